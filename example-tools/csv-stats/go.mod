module toolgate.local/csv-stats

go 1.26

require toolgate.local/sdk v0.0.0

replace toolgate.local/sdk => ../../guest-sdk/go
