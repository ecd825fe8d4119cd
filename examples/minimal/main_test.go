package main

import (
	"testing"

	"github.com/psyb0t/aicodebox/runner/adaptertest"
)

func TestConformance(t *testing.T) {
	t.Parallel()
	adaptertest.Test(t, Cat{})
}
