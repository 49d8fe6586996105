import type { Config } from '../config/config.ts';
import type { Runtime } from '../runtimes/runtime.ts';

/**
 * Returns the runtime to use. A configured one is taken as it is; `auto` takes the first that is available: Docker when an
 * engine answers, Kubernetes when Podyard runs inside a cluster, else processes.
 */
export function chooseRuntime(
  configured: Config['runtime'],
  found: { hasEngine: boolean; isInCluster: boolean },
): Runtime['name'] {
  if (configured !== 'auto') return configured;
  if (found.hasEngine) return 'docker';
  return found.isInCluster ? 'kubernetes' : 'process';
}
