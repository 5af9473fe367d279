// Command river does the work of `weir bench jobs` with River, a job queue on PostgreSQL.
//
//	submitters ─▶ InsertManyFast ─▶ river_job ─▶ client of River: Work ─▶ completed ─▶ jobs/s
//	schedule ───▶ the same ────────────────────▶ Work: now - time of the schedule    ─▶ latency
//
// Invariants:
//
//  1. A job counts when River has reported that it is completed, which it does after the commit.
//  2. The latency of a job counts from the time at which the schedule wanted it to be submitted, as
//     weir's does.
//  3. At the end each job has to be completed, by the rows of the table; otherwise the program
//     fails.
//  4. The output is one line of JSON on stdout.
//
// The program deletes all jobs of the database at its start: give it a database of its own. The
// settings of River are those of its own benchmark, which finds many workers and short pauses
// between fetches the fastest.
package main
