import type { EndpointSnapshot } from '../../api/live-snapshots.ts';
import type { Endpoint } from './settings/endpoint-values.ts';

/** The props of each tab of an endpoint's page. */
export interface EndpointTabProps {
  endpoint: Endpoint;
  /** Undefined until the first live event. */
  snapshot: EndpointSnapshot | undefined;
}
