// Package leasetable is the table of leases in DynamoDB: its schema, its items, and package lease's rules as requests.
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
//	limit      L                      region      lease_until_ms, after which the region's agents write no lease
//
// One index, "available": shard (client, pool, region and a number) and lease_available; a resource is in it from when it
// is given back, with the time from which it is available, until it is taken. The table is replicated to every region; each has a stream with new and old images.
//
// Settings are written through the first of the table's regions only, where administrators agree to do it: their
// writer_region says which that is.
//
// Every row that leases change has writer_region: the region whose endpoint it was last written through.
package leasetable
