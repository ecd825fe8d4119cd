package mcp

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/psyb0t/aicodebox/internal/boxtest"
	"github.com/psyb0t/aicodebox/runner"
)

// The official conformance suite passes, but for what the server does not have
// (testdata/conformance.yaml). The suite wants tools and resources of certain
// names: they are added here, and answered by the server's own code.
func TestConformance(t *testing.T) {
	t.Parallel()
	s := start(t, nil)
	addSuite(t, s)
	expected, err := filepath.Abs("testdata/conformance.yaml")
	if err != nil {
		t.Fatal(err)
	}
	suite := filepath.Join(npmPackages(t), "@modelcontextprotocol", "conformance", "dist", "index.js")
	cmd := exec.CommandContext(t.Context(), node(t), suite, "server", "--url", s.url+"/mcp", "--suite", "all", "--expected-failures", expected)
	cmd.Dir = t.TempDir()
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}

// addSuite adds what the conformance suite asks for.
func addSuite(t *testing.T, s *testServer) {
	t.Helper()
	srv := s.s.server()
	dot, err := base64.StdEncoding.DecodeString(png)
	if err != nil {
		t.Fatal(err)
	}
	anything := json.RawMessage(`{"type":"object"}`)
	for name, run := range map[string]func(*call, *arguments) (output, error){
		"test_simple_text": func(*call, *arguments) (output, error) {
			return output{text: "This is a simple text response for testing.", data: m{}}, nil
		},
		"test_image_content": func(*call, *arguments) (output, error) {
			return output{image: &sdk.ImageContent{Data: dot, MIMEType: "image/png"}, data: m{}}, nil
		},
		"test_error_handling": func(*call, *arguments) (output, error) {
			return output{}, errors.New("This tool intentionally returns an error for testing")
		},
		"test_tool_with_progress": func(c *call, _ *arguments) (output, error) {
			p := c.progress()
			for range 3 {
				p.send(c.ctx, "step")
			}
			return output{data: m{}}, nil
		},
	} {
		srv.library.AddTool(&sdk.Tool{Name: name, Description: "of the suite", InputSchema: anything}, srv.handle(tool{name: name, run: run}))
	}
	srv.library.AddTool(&sdk.Tool{
		Name: "json_schema_2020_12_tool", Description: "of the suite",
		InputSchema: json.RawMessage(`{"$schema":"https://json-schema.org/draft/2020-12/schema","type":"object","$defs":{"address":{"type":"object","properties":{"street":{"type":"string"},"city":{"type":"string"}}}},"properties":{"name":{"type":"string"},"address":{"$ref":"#/$defs/address"}},"additionalProperties":false}`),
	}, srv.handle(tool{run: func(*call, *arguments) (output, error) { return output{data: m{}}, nil }}))
	s.write("static-text", "This is the content of the static text resource.")
	s.write("static-binary.png", string(dot))
	s.write("template-123", `{"id":"123","templateTest":true,"data":"Data for ID: 123"}`)
	for uri, file := range map[string]string{"test://static-text": "static-text", "test://static-binary": "static-binary.png"} {
		srv.library.AddResource(&sdk.Resource{URI: uri, Name: file}, srv.as(uri, file))
	}
	srv.library.AddResourceTemplate(&sdk.ResourceTemplate{Name: "template", URITemplate: "test://template/{id}/data"},
		srv.as("test://template/123/data", "template-123"))
}

// as serves a file under another URI.
func (s *server) as(uri, file string) sdk.ResourceHandler {
	return func(ctx context.Context, _ *sdk.ReadResourceRequest) (*sdk.ReadResourceResult, error) {
		res, err := s.readResource(ctx, &sdk.ReadResourceRequest{Params: &sdk.ReadResourceParams{URI: fileURI(file)}})
		if err != nil {
			return nil, err
		}
		res.Contents[0].URI = uri
		return res, nil
	}
}

// The TypeScript SDK's client works with the server, and its cancellation ends
// the agent.
func TestTypeScriptClient(t *testing.T) {
	t.Parallel()
	s := start(t, boxtest.Env{"AICODEBOX_MCP_MODE_TOKEN": "tok"})
	dir := t.TempDir()
	script, err := os.ReadFile("testdata/client.mjs")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "client.mjs"), script, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(npmPackages(t), filepath.Join(dir, "node_modules")); err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), node(t), "client.mjs", s.url+"/mcp", "ts")
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	s.until("the end of the runs", func() bool {
		list, err := runner.List(t.Context(), s.box)
		return err == nil && len(list) == 0
	})
}

// npmPackages is where scripts/mcp-tools/install puts the packages, or what
// MCP_TOOLS names.
func npmPackages(t *testing.T) string {
	t.Helper()
	dir := os.Getenv("MCP_TOOLS")
	if dir == "" {
		dir = filepath.Join("..", ".cache", "mcp-tools")
	}
	dir, err := filepath.Abs(filepath.Join(dir, "node_modules"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(dir, "@modelcontextprotocol")); err != nil {
		t.Fatalf("%v: run scripts/mcp-tools/install first", err)
	}
	return dir
}

// node finds Node 22 or newer: the one fetched with the agents, or the
// machine's.
func node(t *testing.T) string {
	t.Helper()
	dir := os.Getenv("AICODEBOX_TEST_AGENTS")
	if dir == "" {
		dir = filepath.Join("..", ".cache", "agents")
	}
	fetched, err := filepath.Abs(filepath.Join(dir, "bin", "node"))
	if err != nil {
		t.Fatal(err)
	}
	var found []string
	for _, path := range []string{fetched, "node"} {
		out, err := exec.CommandContext(t.Context(), path, "--version").Output()
		major, _, _ := strings.Cut(strings.TrimPrefix(string(out), "v"), ".")
		if n, convErr := strconv.Atoi(major); err == nil && convErr == nil && n >= 22 {
			return path
		}
		found = append(found, fmt.Sprintf("%s: %s", path, strings.TrimSpace(string(out))))
	}
	t.Fatalf("this test needs Node 22 or newer (%s): run `make agents` once, or install it", strings.Join(found, ", "))
	return ""
}
