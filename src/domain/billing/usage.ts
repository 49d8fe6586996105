/** What is metered. */
export type UsageKind = 'SERVERLESS' | 'POD' | 'NETWORK_VOLUME';

/** What of it is paid for; the last two are the tiers of network volumes. */
export type UsageComponent = 'GPU' | 'CPU' | 'DISK' | 'STANDARD' | 'HIGH_PERFORMANCE';
