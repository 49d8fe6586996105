import { join } from 'node:path';
import type { Config } from '../config.ts';
import type { Logger } from '../core/logger.ts';
import type { Runtime } from '../runtimes/runtime.ts';

/** A runtime with what an installation has there, for looking at it and ending it: nothing is started. Close it. */
export async function openRuntime(
  config: Config,
  name: Runtime['name'],
  installation: string,
  logger: Logger,
): Promise<Runtime> {
  const shared = { installation, gpus: new Map<string, number>(), logger };
  switch (name) {
    case 'docker': {
      const { createDockerRuntime } = await import('../runtimes/docker/docker-runtime.ts');
      return createDockerRuntime({ ...shared, publishIp: config.publishIp, stateDir: join(config.dataDir, 'docker') });
    }
    case 'process': {
      const { createProcessRuntime } = await import('../runtimes/process/process-runtime.ts');
      return createProcessRuntime({
        ...shared,
        stateDir: join(config.dataDir, 'process'),
        imagesFiles: [],
        hostEnv: config.hostEnv,
      });
    }
    case 'kubernetes': {
      const { createKubernetesRuntime } = await import('../runtimes/kubernetes/kubernetes-runtime.ts');
      return createKubernetesRuntime({ ...shared, settings: config.kubernetes });
    }
    default:
      throw new Error(`what the ${name} runtime has cannot be ended by this command`);
  }
}
