package adaptertest

import (
	"fmt"
	"reflect"
	"strings"

	"github.com/psyb0t/aicodebox"
)

// capabilities are the optional interfaces, each named for its method.
var capabilities = []reflect.Type{
	reflect.TypeFor[aicodebox.DescribeAdapter](),
	reflect.TypeFor[aicodebox.ValidateAdapter](),
	reflect.TypeFor[aicodebox.BuildEnvAdapter](),
	reflect.TypeFor[aicodebox.StreamParserAdapter](),
	reflect.TypeFor[aicodebox.LaunchAdapter](),
	reflect.TypeFor[aicodebox.SetupAdapter](),
}

// methodOf is the method that makes a capability: DescribeAdapter's is Describe.
func methodOf(capability reflect.Type) string {
	return strings.TrimSuffix(capability.Name(), "Adapter")
}

// checkCapabilities finds methods that are meant to be capabilities and are
// not, and misses those that are wanted.
func (k *kit) checkCapabilities() (problems []string) {
	known := map[string]bool{}
	for _, c := range capabilities {
		known[methodOf(c)] = k.has(c)
		problems = append(problems, k.nearMisses(c)...)
	}
	for _, name := range k.wants {
		has, ok := known[name]
		switch {
		case !ok:
			problems = append(problems, fmt.Sprintf("Wants: there is no capability %q", name))
		case !has:
			problems = append(problems, fmt.Sprintf("%T does not have the capability %s", k.adapter, name))
		}
	}
	return problems
}

// layers are the adapter and what it wraps.
func (k *kit) layers() (all []aicodebox.Adapter) {
	for a := k.adapter; a != nil; {
		all = append(all, a)
		w, ok := a.(interface{ Unwrap() aicodebox.Adapter })
		if !ok {
			break
		}
		a = w.Unwrap()
	}
	return all
}

func (k *kit) has(capability reflect.Type) bool {
	for _, a := range k.layers() {
		if reflect.TypeOf(a).Implements(capability) {
			return true
		}
	}
	return false
}

func (k *kit) nearMisses(capability reflect.Type) (problems []string) {
	name := methodOf(capability)
	want, _ := capability.MethodByName(name)
	for _, a := range k.layers() {
		t := reflect.TypeOf(a)
		if t.Implements(capability) {
			continue
		}
		if _, ok := t.MethodByName(name); ok {
			problems = append(problems, fmt.Sprintf("%v: method %s has another type than %v, so it is never called", t, name, want.Type))
		} else if _, ok := reflect.PointerTo(t).MethodByName(name); ok && t.Kind() != reflect.Pointer {
			problems = append(problems, fmt.Sprintf("%v: method %s is declared on *%v, so the value does not have it", t, name, t))
		}
	}
	return problems
}
