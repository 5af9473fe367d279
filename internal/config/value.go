package config

import (
	"cmp"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"
)

// parse converts a raw value, a string or a []string from a YAML sequence, to the type of k's field
// and checks its range. Errors contain the value unless k is a secret.
func (k Key) parse(raw any) (any, error) {
	if list, ok := raw.([]string); ok && k.Kind != KindDCs {
		if k.Kind != KindList {
			return nil, errors.New("takes one value, not a list")
		}
		return list, k.checkItems(list)
	}
	text, ok := raw.(string)
	if !ok && k.Kind != KindDCs {
		return nil, errors.New("takes one value")
	}
	switch k.Kind {
	case KindDCs:
		return parseDCs(raw)
	case KindSecret:
		return Secret{text}, nil
	case KindList:
		list := splitList(text)
		return list, k.checkItems(list)
	case KindString:
		return text, k.checkText(text)
	case KindBool:
		return parseBool(text)
	case KindInteger:
		return within(k, text, parseInt)
	case KindDuration:
		return within(k, text, parseDuration)
	case KindBytes:
		return within(k, text, ParseBytes)
	}
	return nil, fmt.Errorf("has the unknown kind %q", k.Kind)
}

// within parses text and refuses a value outside the bounds of k.
func within[T cmp.Ordered](k Key, text string, parse func(string) (T, error)) (any, error) {
	v, err := parse(text)
	if err != nil {
		return nil, err
	}
	for _, bound := range []struct {
		text string
		bad  int
	}{{k.Min, -1}, {k.Max, +1}} {
		if bound.text == "" {
			continue
		}
		b, err := parse(bound.text)
		if err != nil {
			return nil, fmt.Errorf("has an invalid bound: %w", err)
		}
		if cmp.Compare(v, b) == bound.bad {
			return nil, fmt.Errorf("%q is out of range: use %s", text, k.Range())
		}
	}
	return v, nil
}

func (k Key) checkText(s string) error {
	if k.OneOf != nil && !slices.Contains(k.OneOf, s) {
		if n, ok := Nearest(s, k.OneOf); ok {
			return fmt.Errorf("%q is not allowed: use %s; did you mean %q?", s, k.Range(), n)
		}
		return fmt.Errorf("%q is not allowed: use %s", s, k.Range())
	}
	if f := formatOf(k.check); !f.ok(s) {
		return fmt.Errorf("%q is not allowed: must be %s", s, f.want)
	}
	return nil
}

func (k Key) checkItems(list []string) error {
	for i, s := range list {
		if err := k.checkText(s); err != nil {
			return err
		}
		if slices.Contains(list[:i], s) {
			return fmt.Errorf("%q is listed twice", s)
		}
	}
	return nil
}

// splitList splits s at commas. An empty text is an empty list.
func splitList(s string) []string {
	if strings.TrimSpace(s) == "" {
		return nil
	}
	list := strings.Split(s, ",")
	for i := range list {
		list[i] = strings.TrimSpace(list[i])
	}
	return list
}

func parseBool(s string) (any, error) {
	switch strings.ToLower(s) {
	case "true", "yes", "on", "1":
		return true, nil
	case "false", "no", "off", "0":
		return false, nil
	}
	return nil, fmt.Errorf("%q is neither true nor false", s)
}

func parseInt(s string) (int, error) {
	n, err := strconv.Atoi(strings.ReplaceAll(s, "_", ""))
	if err != nil {
		return 0, fmt.Errorf("%q is not a whole number", s)
	}
	return n, nil
}

func parseDuration(s string) (time.Duration, error) {
	d, err := time.ParseDuration(s)
	if err == nil {
		return d, nil
	}
	if _, numErr := strconv.ParseFloat(s, 64); numErr == nil {
		return 0, fmt.Errorf("%q has no unit: write %sms, %ss or %sm", s, s, s, s)
	}
	return 0, fmt.Errorf("%q is not a duration: write a number and a unit, like 100ms, 6s or 10m", s)
}

// show returns the value of a setting in the notation of the file.
func show(v reflect.Value) string {
	switch x := v.Interface().(type) {
	case []string:
		return strings.Join(x, ",")
	case []DC:
		items := make([]string, len(x))
		for i, d := range x {
			items[i] = d.text()
		}
		return strings.Join(items, ",")
	case time.Duration:
		return showDuration(x)
	default:
		return fmt.Sprint(x)
	}
}

// showDuration returns d without the zero parts that time.Duration prints: 10m for 10m0s.
func showDuration(d time.Duration) string {
	s := d.String()
	if t, ok := strings.CutSuffix(s, "m0s"); ok {
		s = t + "m"
	}
	if t, ok := strings.CutSuffix(s, "h0m"); ok {
		s = t + "h"
	}
	return s
}
