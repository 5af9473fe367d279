// Package events holds the nouns.
package events
