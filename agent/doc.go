// Package agent leases resources from pools. It is a library and a direct client of DynamoDB: a
// process that uses it needs no other weir process to lease, renew and release.
//
// A lease is the right of a key to use one resource of a pool until a deadline. A key can be a
// user, a campaign or a session. A resource can be a domain, an account or a phone number. Both can
// be any text. Each client (tenant) has its own pools. All callers that ask for the same key get
// the same resource: in this process, in another one, and in another region.
//
// # Getting started
//
// An administrator creates the lease table, the regions, a client, a pool and its resources, with
// the weir command or with package lease/admin. Then:
//
//	cfg, err := config.LoadDefaultConfig(ctx) // package aws-sdk-go-v2/config
//	if err != nil {
//		return err
//	}
//	a, err := agent.New(agent.Config{Region: "eu-west-1", AWS: cfg})
//	if err != nil {
//		return err
//	}
//	defer a.Close()
//	l, err := a.GetLease(ctx, "acme", "domains", "campaign-17", time.Now().Add(10*time.Minute))
//	if err != nil {
//		return err
//	}
//	use(l.Resource, l.Deadline) // stop at the deadline
//	return a.Release(ctx, l)
//
// Create one Agent for each process and table. It is safe for concurrent use. A holder that needs
// the resource for longer calls Renew before the deadline, and can call Watch to learn at once that
// the lease was lost. The identity needs dynamodb:GetItem, Query and UpdateItem on the table, and
// Query on its index "available".
//
// # How a call works
//
//	GetLease ─▶ memory ─▶ one call per key at a time ─▶ state machine of package lease ─▶ DynamoDB
//	              0 round trips                           1: the key has a lease          own region
//	                                                      3: new lease
//	                     candidates, read ahead from the index ──┘    Renew, Release: the lease's region
//
// A lease from memory is at most Config.CacheTTL old. Reads are consistent reads in Config.Region,
// and writes are conditional on the row's version, so two agents can never lease one resource to
// two keys. Candidates are read from several random buckets of the index, so that agents seldom
// compete for the same resource.
//
// # Guarantees
//
//   - LEASE-1: No two keys use one resource at the same time, at whatever point processes crash, as
//     long as clocks differ by at most Config.Skew and every user stops at Lease.Deadline.
//   - LEASE-2: Among the leases of one region, a key has at most one resource at a time. GetLease
//     may return the lease of another region (Lease.Region); then the promise holds for that
//     region's leases, see Limits.
//   - LEASE-5: A lease that no user releases lasts until its end. Its end never moves to an earlier
//     time.
//   - LEASE-9: Lease.Token is greater for each later lease of a resource, and for each renewal. A
//     system behind the resource that rejects smaller tokens is protected against users with a
//     wrong clock.
//   - LEASE-10: A process that dies during a call leaves nothing that the next call for the key, or
//     the lease loop, does not complete.
//
// # Time
//
// The end of a lease is fixed before the first write, so a slow request shortens the usable time
// and never extends it. Lease.Deadline is the end less Config.Skew, for comparison with the
// holder's own clock. If the deadline passes during the call, the call returns an error and no
// lease. Every answer of DynamoDB is compared with the local clock; a difference above Config.Skew
// gives ErrClock.
//
// # Failures
//
//	failure                            what the agent does                   what the caller sees
//	pool has no free resource here     counts the refused key                ExhaustedError with RetryAfter
//	DynamoDB does not answer           repeats, up to Config.Attempts        ErrUnavailable; leases in memory are
//	                                                                         still returned
//	an answer is lost                  repeats; the row shows the outcome    nothing, or ErrUnavailable
//	DynamoDB throttles                 repeats with a pause                  ErrThrottled
//	write lease of the region ended    makes no write                        ErrNoWriteLease; use another region
//	settings cannot be read            uses those it has, up to 10 times     nothing, then ErrUnavailable
//	                                   Config.SettingsTTL
//	two regions lease a key at once    nothing; package dedup supersedes     the winner's resource with the next
//	                                   the later lease                       GetLease; ErrSuperseded from Renew
//	                                                                         and Watch
//
// After ErrUnavailable the outcome of the call may be unknown. Calling again is safe: the same key
// gets the same resource.
//
// # Limits
//
//   - Two regions that get a new key within the replication delay may lease one resource each. The
//     lease loop has to run for dedup to resolve it, which takes some seconds.
//   - Resources of ended leases are freed by the liberator, and moved between regions by the
//     balancer. Without the lease loop a pool runs out in time.
//   - Release ends the lease for all users of the key. A user in a region other than the lease's
//     keeps the deadline, but the next GetLease in that region may begin a lease there, with
//     another resource, before that deadline. Release a shared key only when no user needs it.
//   - The agent keeps nothing on disk. After a restart the first call for a key reads the table.
package agent
