// Package table is the table of leases in DynamoDB: its schema, its items, and package lease's rules as requests.
//
//	row        pk                     sk          what else it has
//	resource   R#client#bucket        resource    version, owner_region, then key and lease_expires or lease_available; pool_id, shard
//	key        K#client#pool#key      region      version, state, resource, resource_version, lease_expires, winner
//	client     C                      client      settings
//	pool       C#client               pool#name   settings
//	region     G                      region      settings
//	import     I#client               digest      how far an import of resources came
//	headroom   H#client#pool          region      free, need, as of
//	demand     D#client#pool          region      refused, how many keys got no lease, since ever
//	beat       B                      region      beat_ms, when the region last wrote it
//	limit      L                      region#by   lease_until_ms, after which the region's agents write no lease, as far as by vouches for it
//	home       L                      home        writer_region is the home, home_from the one before, home_moving while it moves
//
// One index, "available": shard (client, pool, region and a number) and lease_available; a resource is in it from when it
// is given back, with the time from which it is available, until it is taken. The table is replicated to every region; each has a stream with new and old images.
//
// Settings are written through one of the table's regions only, the home: their writer_region says which that is. A limit's row is
// written through by's endpoint, and a region may go on as long as any of its limits does.
//
// Every row that leases change has writer_region: the region whose endpoint it was last written through.
package table
