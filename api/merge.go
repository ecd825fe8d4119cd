package api

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"
)

// noTime leaves a Last-Modified out.
var noTime time.Time

// mergeSeats adds what seats brought to the OpenAPI document data, and puts its
// members in the order in which people read them.
func mergeSeats(data []byte, seats []seat) ([]byte, error) {
	data, err := merge(data, []byte("{}"))
	if err != nil {
		return nil, fmt.Errorf("write the OpenAPI document: %w", err)
	}
	for _, st := range seats {
		if len(st.Document) == 0 {
			continue
		}
		if data, err = merge(data, st.Document); err != nil {
			return nil, fmt.Errorf("add the routes at %s to the OpenAPI document: %w", strings.Join(st.patterns, " "), err)
		}
	}
	return data, nil
}

// merge adds the tags, paths and components of part to the OpenAPI document
// doc. A path or component that both have is an error: one would be hidden.
func merge(doc, part []byte) ([]byte, error) {
	var whole, more openAPI
	if err := json.Unmarshal(doc, &whole); err != nil {
		return nil, err
	}
	if err := json.Unmarshal(part, &more); err != nil {
		return nil, fmt.Errorf("read its document: %w", err)
	}
	if err := whole.add(more); err != nil {
		return nil, err
	}
	return json.Marshal(whole)
}

// openAPI is as much of a document as merge has to know.
type openAPI struct {
	OpenAPI    string                                `json:"openapi,omitempty"`
	Info       json.RawMessage                       `json:"info,omitempty"`
	Servers    json.RawMessage                       `json:"servers,omitempty"`
	Security   json.RawMessage                       `json:"security,omitempty"`
	Tags       []json.RawMessage                     `json:"tags,omitempty"`
	Paths      map[string]json.RawMessage            `json:"paths,omitempty"`
	Components map[string]map[string]json.RawMessage `json:"components,omitempty"`
}

func (d *openAPI) add(part openAPI) error {
	d.Tags = append(d.Tags, part.Tags...)
	if err := join(d.Paths, part.Paths, "path"); err != nil {
		return err
	}
	for kind, named := range part.Components {
		if d.Components[kind] == nil {
			d.Components[kind] = map[string]json.RawMessage{}
		}
		if err := join(d.Components[kind], named, kind); err != nil {
			return err
		}
	}
	return nil
}

func join(into, from map[string]json.RawMessage, what string) error {
	for name, value := range from {
		if have, ok := into[name]; ok {
			if string(have) == string(value) {
				continue
			}
			return fmt.Errorf("%s %s is described twice", what, name)
		}
		into[name] = value
	}
	return nil
}
