// Package pace finds out how many writes a second DynamoDB takes, for those who have more of them than it may take.
//
//	Wait(n) ──▶ n writes ──▶ Throttle(how many of them were refused)
//
// Of many writers on one table each finds its share: what throttles makes all of them slower, and all grow alike after it.
//
// What it does not do: it does not try anything again.
package pace
