import type { EndpointId } from '../../core/ids.ts';
import type { Context } from '../context.ts';

/** Notifies caches of endpoints, and the scaler. */
export function publishEndpoint(bus: Context['bus'], endpointId: EndpointId): void {
  bus.publish('endpoint', endpointId);
  bus.publish('demand', endpointId);
}
