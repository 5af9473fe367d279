package config

import "time"

// Config is the effective configuration. Get one from Load or Default; the zero value is not valid.
//
// The tags of a leaf: key (below its section), default, unit (for the reference), min and max (inclusive, in the
// field's own notation), oneof (allowed values), check (a named form, see forms), source:"env" (not from file or flag),
// doc.
type Config struct {
	DC       string `key:"dc" default:"local" check:"dc" doc:"name of this datacentre: part of topic names, so it stays"`
	DataDir  string `key:"data_dir" default:"data" unit:"path" check:"nonempty" doc:"directory of the state; one process at a time"`
	Instance string `key:"instance" default:"" check:"instance" doc:"stable name of this process: its transactions and state belong to it; empty: the host's name"`
	Memory   Bytes  `key:"memory" default:"768MiB" unit:"bytes" min:"128MiB" max:"1TiB" doc:"budget for campaigns in memory, caches and buffers; campaigns that do not fit cost reads; weir config memory shows where it goes"`

	Kafka     Kafka     `key:"kafka"`
	API       API       `key:"api"`
	Log       Log       `key:"log"`
	Processor Processor `key:"processor"`
	Spend     Spend     `key:"spend"`
	Leases    Leases    `key:"leases"`
	Topics    Topics    `key:"topics"`

	Peers []string `key:"peers" default:"" unit:"names" check:"dc" doc:"the other datacentres, whose events arrive as copies"`

	entries []Entry
}

// Kafka says how to reach the brokers.
type Kafka struct {
	Brokers []string `key:"brokers" default:"127.0.0.1:9092" unit:"host:port list" check:"hostport" doc:"brokers to ask first"`
	TLS     TLS      `key:"tls"`
	SASL    SASL     `key:"sasl"`
}

// TLS is the transport security of the connection to Kafka.
type TLS struct {
	Enabled  bool   `key:"enabled" default:"false" doc:"encrypt the connection and check the broker's certificate"`
	CAFile   string `key:"ca_file" default:"" unit:"path" doc:"PEM file of the authorities to trust; empty: the system's"`
	CertFile string `key:"cert_file" default:"" unit:"path" doc:"PEM file of our own certificate, if the brokers ask for one"`
	KeyFile  string `key:"key_file" default:"" unit:"path" doc:"PEM file of its key"`
}

// SASL is who we are to Kafka. Use Credentials for the password.
type SASL struct {
	Mechanism    string `key:"mechanism" default:"" oneof:",PLAIN,SCRAM-SHA-256,SCRAM-SHA-512" doc:"how to sign in; empty: not at all"`
	User         string `key:"user" default:"" doc:"user name"`
	Password     Secret `key:"password" default:"" source:"env" doc:"password; only from the environment"`
	PasswordFile string `key:"password_file" default:"" unit:"path" doc:"file that holds the password; read anew at every connection, so it can be replaced"`
}

// API says where this process listens.
type API struct {
	Listen      string `key:"listen" default:"127.0.0.1:8080" unit:"host:port" check:"listen" doc:"address of the API; port 0 takes a free one; other machines reach it only with TLS and a token"`
	Advertise   string `key:"advertise" default:"" unit:"host:port" check:"advertise" doc:"address by which the other processes reach the API, such as that of a proxy before it; empty: where it listens"`
	OpsListen   string `key:"ops_listen" default:"127.0.0.1:8081" unit:"host:port" check:"listen" doc:"address of health and metrics"`
	TLSCertFile string `key:"tls_cert_file" default:"" unit:"path" doc:"PEM file of the certificate of both listeners; read anew at every connection, so it can be replaced; empty: no TLS"`
	TLSKeyFile  string `key:"tls_key_file" default:"" unit:"path" doc:"PEM file of its key"`
	CAFile      string `key:"ca_file" default:"" unit:"path" doc:"PEM file of the authorities that vouch for the other processes and for the server that commands ask; empty: the system's"`
	TokenFile   string `key:"token_file" default:"" unit:"path" doc:"file of the token that callers must send, at least 16 bytes; the same in all processes, and what commands send; empty: none"`
}

// Log says how the process talks.
type Log struct {
	Level  string `key:"level" default:"info" oneof:"trace,debug,info,warn,error" doc:"least important message to write"`
	Format string `key:"format" default:"auto" oneof:"auto,console,json" doc:"console is for a person, json for a machine; auto: console on a terminal"`
}

// Processor bounds the commit cycle of the runtime.
type Processor struct {
	CommitInterval     time.Duration `key:"commit_interval" default:"100ms" unit:"duration" min:"5ms" max:"1m" doc:"time between commits when caught up: the age of what readers see"`
	CommitIntervalMax  time.Duration `key:"commit_interval_max" default:"1s" unit:"duration" min:"5ms" max:"1m" doc:"the same when far behind: longer costs less per record"`
	CommitRecords      int           `key:"commit_records" default:"2000000" unit:"records" min:"1" max:"100000000" doc:"commit at the latest after so many records"`
	CommitBytes        Bytes         `key:"commit_bytes" default:"32MiB" unit:"bytes" min:"64KiB" max:"4GiB" doc:"commit at the latest with so much changed state in memory"`
	PollRecords        int           `key:"poll_records" default:"10000" unit:"records" min:"1" max:"1000000" doc:"records taken from Kafka at a time"`
	Workers            int           `key:"workers" default:"0" unit:"sessions" min:"0" max:"256" doc:"sessions with Kafka, each with its goroutine; 0: as many as cores, at least 4"`
	Standbys           int           `key:"standbys" default:"0" unit:"processes" min:"0" max:"2" doc:"other processes that keep the state of each partition warm, to go on at once where one dies; costs disk and reading"`
	SessionTimeout     time.Duration `key:"session_timeout" default:"6s" unit:"duration" min:"1s" max:"30m" doc:"silence after which the group gives our partitions to others; brokers accept 6s to 30m unless told"`
	TransactionTimeout time.Duration `key:"transaction_timeout" default:"10s" unit:"duration" min:"1s" max:"15m" doc:"age at which the broker aborts our transaction"`
	PoisonLimit        int           `key:"poison_limit" default:"10" unit:"records" min:"1" max:"100000" doc:"records in a row that may panic in a fold before their partition stops"`
	ShutdownTimeout    time.Duration `key:"shutdown_timeout" default:"20s" unit:"duration" min:"1s" max:"10m" doc:"how long a stop may drain, commit and leave the group"`
}

// Spend is about counting.
type Spend struct {
	Partitions      int           `key:"partitions" default:"24" unit:"partitions" min:"1" max:"1024" doc:"partitions of every topic: producers spread accounts by it; another number needs new topics and weir rekey"`
	Generation      int           `key:"generation" default:"1" unit:"number" min:"1" max:"1000" doc:"which topics: those of generation 2 end with .g2; weir rekey moves the state to them"`
	DuplicateWindow time.Duration `key:"duplicate_window" default:"10m" unit:"duration" min:"0s" max:"24h" doc:"how long an event id is remembered; beyond it the same id counts again"`
	MaxIDs          int           `key:"max_ids" default:"4000000" unit:"ids" min:"1000" max:"1000000000" doc:"event ids remembered per partition, 11 to 21 bytes each; more shorten the window; the same in all replicas"`
}

// Leases says where the table of leases is. The defaults are what weir dev serves.
type Leases struct {
	Table      string        `key:"table" default:"weir-leases" check:"table" doc:"name of the DynamoDB table"`
	Regions    []string      `key:"regions" default:"eu-west-1=http://127.0.0.1:8000,us-east-1=http://127.0.0.1:8001,us-west-2=http://127.0.0.1:8002" unit:"regions" check:"region" doc:"regions that have a replica, the same in the same order everywhere; name, or name=URL where DynamoDB is not AWS's own"`
	Home       string        `key:"home" default:"" unit:"region" doc:"the region that settings and new resources are written through, the same everywhere; weir region home moves it; empty: the first of leases.regions"`
	Region     string        `key:"region" default:"" unit:"region" doc:"the region whose resources commands lease, and whose executor weir run has; empty: the first, and those of all regions"`
	Skew       time.Duration `key:"skew" default:"500ms" unit:"duration" min:"50ms" max:"1m" doc:"most by which clocks may be off; the same everywhere; a resource that moves to another region rests for four times as long"`
	Partitions int           `key:"partitions" default:"12" unit:"partitions" min:"1" max:"1024" doc:"partitions of the topics of leases; another number needs new topics"`
	Timeout    time.Duration `key:"timeout" default:"2s" unit:"duration" min:"50ms" max:"1m" doc:"time for one request of commands and agents to DynamoDB; executors and bridges have theirs"`

	Executor  LeaseExecutor  `key:"executor"`
	Bridge    LeaseBridge    `key:"bridge"`
	Liberator LeaseLiberator `key:"liberator"`
	Balancer  LeaseBalancer  `key:"balancer"`
}

// LeaseExecutor is how fast commands are carried out in a region.
type LeaseExecutor struct {
	Timeout     time.Duration `key:"timeout" default:"1s" unit:"duration" min:"50ms" max:"10s" doc:"time for one request; a resource that moves rests for it and four times leases.skew; longer where answers take longer"`
	Concurrency int           `key:"concurrency" default:"64" unit:"commands" min:"1" max:"1024" doc:"commands carried out at once in each region"`
	Rate        int           `key:"rate" default:"0" unit:"requests per second" min:"0" max:"1000000" doc:"most requests a second in each region; 0: as many as the table takes"`
}

// LeaseBridge is how fast bridges read the table, beside its streams.
type LeaseBridge struct {
	Timeout  time.Duration `key:"timeout" default:"10s" unit:"duration" min:"1s" max:"1m" doc:"time for one request"`
	ScanRate int           `key:"scan_rate" default:"5000" unit:"rows per second" min:"10" max:"1000000" doc:"rows a second that a scan reads which was asked for, or makes good what a stream lost; four of 1 KB cost two read units"`
	Sweep    time.Duration `key:"sweep" default:"24h" unit:"duration" min:"0s" max:"720h" doc:"in what time the whole table is read once, for ever, against what a stream lost without a word; 0s: never"`
}

// LeaseLiberator is how fast resources are given back.
type LeaseLiberator struct {
	Rate int `key:"rate" default:"200" unit:"resources per second" min:"1" max:"1000000" doc:"most resources a second that are given back to one sub-partition of a pool in a region: DynamoDB takes 1000 writes a second of one"`
}

// LeaseBalancer is how much is moved, and how often.
type LeaseBalancer struct {
	Every      time.Duration `key:"every" default:"10s" unit:"duration" min:"100ms" max:"1h" doc:"time between two plans of a pool"`
	Tick       time.Duration `key:"tick" default:"1s" unit:"duration" min:"100ms" max:"1m" doc:"time between two looks at what is about to run out"`
	Cap        int           `key:"cap" default:"100" unit:"resources" min:"1" max:"1000000" doc:"most that one plan of a pool moves, if leases.balancer.cap_percent is not more"`
	CapPercent int           `key:"cap_percent" default:"25" unit:"percent" min:"1" max:"100" doc:"most that one plan of a pool moves, of what is free in it, if leases.balancer.cap is not more"`
	Evacuate   int           `key:"evacuate" default:"1000" unit:"resources" min:"1" max:"1000000" doc:"most that leave a region in one plan of a pool while it is evacuated"`
}

// Topics says how topics are created.
type Topics struct {
	ReplicationFactor int `key:"replication_factor" default:"3" unit:"copies" min:"1" max:"15" doc:"copies of each partition; 1 on a single broker"`
	MinInSync         int `key:"min_insync" default:"2" unit:"copies" min:"1" max:"15" doc:"copies that must have a record before it counts as written"`
}
