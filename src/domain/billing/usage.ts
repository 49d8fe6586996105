/** The kinds of metered resources. */
export type UsageKind = 'SERVERLESS' | 'POD' | 'NETWORK_VOLUME' | 'CLUSTER';

/** The charged components of a resource; the last two are the tiers of network volumes. */
export type UsageComponent = 'GPU' | 'CPU' | 'DISK' | 'STANDARD' | 'HIGH_PERFORMANCE';
