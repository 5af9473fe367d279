// Package page renders the web pages of the API: the overview, the spend of a campaign or of an
// account and how it is paced, and the answer to an unknown path. With several datacentres, the
// overview has their datasets and copies, and the page of a campaign what each dataset has of it.
//
//	Overview, Spend, Missing ──Render──▶ HTML ─┐
//	static: weir.css, weir.js, icon.svg ───────┴─▶ a browser
//	                                  weir.js ───▶ the same address again, every 2 s; only what changed is replaced
//
// Invariants:
//
//  1. A figure is that of an API answer, or a sum of them. Money and counts are exact: separators
//     are added, and no digit is rounded away, except in rates.
//  2. An unknown figure is never shown as zero. A part that could not be read shows its error.
//  3. Text from data stays text: no id, reason or error becomes HTML, and characters that are not
//     printable are escaped. An id has its own text direction.
//  4. A page needs only its style, its script and its icon, from its own origin (Policy). It is
//     complete without the script: a link loads it again.
//  5. The size of a page is bounded, whatever the number of partitions, pools and campaigns. A list
//     that is cut states how many rows it leaves out.
//
// It reads nothing: package api collects the content. It knows no user, and no page changes
// anything.
package page
