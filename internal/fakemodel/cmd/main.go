// Command cmd runs the scripted model server of internal/fakemodel for programs
// that are not Go tests: go run ./internal/fakemodel/cmd -addr 127.0.0.1:18080.
// It prints its base address on a line of its own once it listens.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/psyb0t/aicodebox/internal/fakemodel"
)

func main() {
	address := flag.String("addr", "127.0.0.1:0", "address to listen on")
	flag.Parse()
	if err := run(*address); err != nil {
		fmt.Fprintln(os.Stderr, "fakemodel:", err)
		os.Exit(1)
	}
}

func run(address string) error {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	server, err := fakemodel.Listen(address)
	if err != nil {
		return err
	}
	fmt.Println(server.URL)
	<-ctx.Done()
	return server.Close()
}
