package mcp

import (
	"embed"
	"encoding/json"
	"fmt"
	"strings"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/psyb0t/aicodebox"
)

// tool is one thing that a client's model can have the box do.
type tool struct {
	name        string
	title       string
	description string
	readOnly    bool // changes nothing
	destructive bool // may change or remove what is there
	idempotent  bool // a second equal call changes nothing more
	open        bool // reaches beyond the box
	run         func(c *call, args *arguments) (output, error)
}

// schemas are the JSON Schemas of the tools' arguments and answers:
// schemas/<tool>.in.json and schemas/<tool>.out.json. They are texts of their
// own, since a Go type would not say what a caller's schema is without reading
// it.
//
//go:embed schemas
var schemas embed.FS

func schema(name string) json.RawMessage {
	data, err := schemas.ReadFile("schemas/" + name + ".json")
	if err != nil {
		panic(err) // it is part of the program
	}
	return data
}

// describe says what the library tells clients of the tool.
func (t tool) describe() *sdk.Tool {
	return &sdk.Tool{
		Name: t.name, Title: t.title, Description: t.description,
		InputSchema: schema(t.name + ".in"), OutputSchema: schema(t.name + ".out"),
		Annotations: &sdk.ToolAnnotations{
			Title: t.title, ReadOnlyHint: t.readOnly, DestructiveHint: &t.destructive,
			IdempotentHint: t.idempotent, OpenWorldHint: &t.open,
		},
	}
}

// tools are the tools of the box. Their descriptions are written for models.
func (s *server) tools() []tool {
	box := s.surface.box
	return []tool{
		{
			name: "run_prompt", title: "Run a prompt", destructive: true, open: true,
			description: describePrompt(box), run: s.surface.runPrompt,
		},
		{
			name: "get_run", title: "Wait for a run", readOnly: true,
			description: "Returns the answer of a run that run_prompt left running, waiting for it a while. " +
				"When its status is still running or waiting, call get_run again with the same run_id. " +
				"Answers are kept for 6 hours and can be fetched more than once.",
			run: s.surface.getRun,
		},
		{
			name: "cancel_run", title: "Cancel a run", destructive: true, idempotent: true,
			description: "Stops a run that run_prompt left running, with every process the agent started. A run that has ended already keeps its answer.",
			run:         s.surface.cancelRun,
		},
		{
			name: "list_files", title: "List files", readOnly: true,
			description: "Lists a directory of the workspaces. Paths are relative to the root of all workspaces; without path it is the root. " +
				"With depth the directories below are listed too (but not what is inside .git and node_modules). Links are told as such and not followed.",
			run: s.surface.listDirectory,
		},
		{
			name: "read_file", title: "Read a file", readOnly: true,
			description: "Reads a text file or an image (PNG, JPEG, GIF, WebP) from the workspaces. " +
				"Of a long text file one call returns at most 2000 lines and 256 KiB: ask for more with first_line and line_count.",
			run: s.surface.readFile,
		},
		{
			name: "write_file", title: "Write a file", destructive: true, idempotent: true,
			description: "Writes a text file in the workspaces, whole: what was in it is replaced at once. Missing directories are made.",
			run:         s.surface.writeFile,
		},
		{
			name: "delete_file", title: "Delete a file", destructive: true, idempotent: true,
			description: "Deletes a file of the workspaces; of a link, the link itself. Directories cannot be deleted.",
			run:         s.surface.deleteFile,
		},
	}
}

func agentName(box *aicodebox.Box) string {
	if name := box.Agent().Name; name != "" {
		return name
	}
	return box.Brand()
}

// describePrompt tells what run_prompt does in this box.
func describePrompt(box *aicodebox.Box) string {
	var b strings.Builder
	fmt.Fprintf(&b, "Has the coding agent %s carry out a task and returns its answer. The agent works by itself in a directory of the box, "+
		"reads and writes files there and runs commands; it knows nothing but the prompt and that directory, so put into the prompt all it has to know. "+
		"This can take minutes. A long run is left running and answered with a run_id: call get_run with it. "+
		"Equal calls while a run is going on join it instead of starting another. "+
		"With json_schema the answer is JSON that satisfies the schema.", agentName(box))
	if models := box.Models(); len(models) > 0 {
		fmt.Fprintf(&b, " Models: %s.", strings.Join(models, ", "))
	}
	if efforts := box.Efforts(); len(efforts) > 0 {
		fmt.Fprintf(&b, " Thinking levels: %s.", strings.Join(efforts, ", "))
	}
	return b.String()
}

// instructions tell a client's model what the server is good for.
func instructions(box *aicodebox.Box) string {
	return fmt.Sprintf("This box runs the coding agent %s. Give it whole tasks with run_prompt: it works in a directory of its own below the root of all workspaces. "+
		"Hand it files with write_file and look at its work with list_files and read_file; their paths begin with the workspace's name. "+
		"One run at a time works in a workspace, so give tasks that can go on side by side different workspaces.", agentName(box))
}
