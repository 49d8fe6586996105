import { join } from 'node:path';
import type { Config } from '../config/config.ts';
import type { Logger } from '../core/logger.ts';
import type { Runtime } from '../runtimes/runtime.ts';
import { builtImagesIn } from './create-builder.ts';

/** Opens the runtime of an installation to list and stop what runs there. Starts nothing. The caller closes it. */
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
        builtImages: builtImagesIn(config),
        hostEnv: config.hostEnv,
      });
    }
    case 'kubernetes': {
      const { createKubernetesRuntime } = await import('../runtimes/kubernetes/kubernetes-runtime.ts');
      return createKubernetesRuntime({ ...shared, settings: config.kubernetes });
    }
    default:
      throw new Error(`this command does not support the ${name} runtime`);
  }
}
