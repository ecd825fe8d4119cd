package openai

import (
	"strings"
)

// part is a piece of a message's content.
type part struct {
	kind partKind
	text string // of a text; of an attachment, once saved, what stands for it
	at   string // the field that holds the data, for errors
	data string // URL of an image, data URL or base64 of the others
	name string // what the client calls a file; the format of a sound
}

type partKind int

const (
	partText partKind = iota
	partImage
	partFile
	partAudio
)

// maxParts bounds the parts of one message.
const maxParts = 1000

// readContent reads a message's content: a string, a list of parts, or null.
func readContent(v value, of role) ([]part, error) {
	switch {
	case v.absent():
		return nil, nil
	case v.is('"'):
		text, err := v.text()
		return []part{{kind: partText, text: text}}, err
	case !v.is('['):
		return nil, v.wrong("a string, a list of parts, or null")
	}
	list, err := v.list()
	if err != nil {
		return nil, err
	}
	if len(list) > maxParts {
		return nil, badField(v.at, "there are %d parts; at most %d are accepted", len(list), maxParts)
	}
	out := make([]part, 0, len(list))
	for _, item := range list {
		p, err := readPart(item, of)
		if err != nil {
			return nil, err
		}
		out = append(out, p)
	}
	return out, nil
}

func readPart(v value, of role) (part, error) {
	fields, err := v.object()
	if err != nil {
		return part{}, err
	}
	word, err := fields.need(v, "type")
	if err != nil {
		return part{}, err
	}
	kind, err := word.text()
	if err != nil {
		return part{}, err
	}
	read, ok := partReaders[kind]
	if !ok {
		return part{}, badField(word.at, "%q is not a part this endpoint can read; use text, image_url, file or input_audio", clip(kind, 100))
	}
	p, err := read(v, fields)
	if err != nil {
		return part{}, err
	}
	if p.kind != partText && of == roleSystem {
		return part{}, badField(word.at, "a system message can hold text only")
	}
	return p, nil
}

var partReaders = map[string]func(value, members) (part, error){
	"text":        func(v value, m members) (part, error) { return readTextPart(v, m, "text") },
	"refusal":     func(v value, m members) (part, error) { return readTextPart(v, m, "refusal") },
	"image_url":   readImagePart,
	"file":        readFilePart,
	"input_audio": readAudioPart,
}

func readTextPart(v value, m members, name string) (part, error) {
	field, err := m.need(v, name)
	if err != nil {
		return part{}, err
	}
	text, err := field.text()
	return part{kind: partText, text: text}, err
}

func readImagePart(v value, m members) (part, error) {
	field, fields, err := inner(v, m, "image_url")
	if err != nil {
		return part{}, err
	}
	url, err := fields.need(field, "url")
	if err != nil {
		return part{}, err
	}
	data, err := url.text()
	return part{kind: partImage, at: url.at, data: data}, err
}

func readFilePart(v value, m members) (part, error) {
	field, fields, err := inner(v, m, "file")
	if err != nil {
		return part{}, err
	}
	if id := fields.get(field, "file_id"); !id.absent() {
		return part{}, badField(id.at, "this endpoint stores no files; send the file itself as file_data")
	}
	raw, err := fields.need(field, "file_data")
	if err != nil {
		return part{}, err
	}
	p := part{kind: partFile, at: raw.at}
	if p.data, err = raw.text(); err != nil {
		return part{}, err
	}
	p.name, err = fields.get(field, "filename").optionalText()
	return p, err
}

func readAudioPart(v value, m members) (part, error) {
	field, fields, err := inner(v, m, "input_audio")
	if err != nil {
		return part{}, err
	}
	raw, err := fields.need(field, "data")
	if err != nil {
		return part{}, err
	}
	p := part{kind: partAudio, at: raw.at}
	if p.data, err = raw.text(); err != nil {
		return part{}, err
	}
	p.name, err = fields.get(field, "format").optionalText()
	if err == nil && strings.Trim(p.name, letters) != "" {
		err = badField(field.at+".format", "expected a word such as wav or mp3")
	}
	return p, err
}

const letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"

// inner returns the object that a part's own field must be.
func inner(v value, m members, name string) (value, members, error) {
	field, err := m.need(v, name)
	if err != nil {
		return field, nil, err
	}
	fields, err := field.object()
	return field, fields, err
}
