// Command client runs a prompt with the client that is generated from the
// box's OpenAPI document, and fails unless the answer is as it should be.
//
//	client <url> <token>
package main

import (
	"context"
	"fmt"
	"log"
	"net/http"
	"os"
	"strings"
)

//go:generate go tool oapi-codegen -config oapi.yaml ../openapi.json

func main() {
	log.SetFlags(0)
	if len(os.Args) != 3 {
		log.Fatal("usage: client <url> <token>")
	}
	if err := run(context.Background(), os.Args[1], os.Args[2]); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context, url, token string) error {
	client, err := NewClientWithResponses(url, WithRequestEditorFn(func(_ context.Context, r *http.Request) error {
		r.Header.Set("Authorization", "Bearer "+token)
		return nil
	}))
	if err != nil {
		return err
	}
	workspace, prompt := "generated", "SAY:hello"
	answer, err := client.RunWithResponse(ctx, nil, RunRequest{Prompt: prompt, Workspace: &workspace})
	if err != nil {
		return err
	}
	if answer.JSON200 == nil || answer.JSON200.Text == nil {
		return fmt.Errorf("no answer: %s: %s", answer.Status(), answer.Body)
	}
	fmt.Println(*answer.JSON200.Text)
	refused, err := client.RunWithResponse(ctx, nil, RunRequest{})
	if err != nil {
		return err
	}
	if p := refused.ApplicationproblemJSON422; p == nil || p.Errors == nil || len(*p.Errors) == 0 {
		return fmt.Errorf("an empty prompt was answered %s: %s", refused.Status(), refused.Body)
	}
	put, err := client.PutFileWithBodyWithResponse(ctx, "generated/notes.txt", "application/octet-stream", strings.NewReader("notes"))
	if err != nil {
		return err
	}
	if put.JSON201 == nil {
		return fmt.Errorf("no file: %s: %s", put.Status(), put.Body)
	}
	return nil
}
