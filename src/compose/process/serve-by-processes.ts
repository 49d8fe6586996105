import type { Config } from '../../config/config.ts';
import { MetricsPage } from '../../rest/installation/metrics-page.ts';
import { reservePort, rethrowPortInUse } from '../front/listen.ts';
import { reserveWorkerApi } from '../front/worker-listener.ts';
import { pickRoles } from '../roles.ts';
import type { ServerParts, Serving } from '../serving.ts';
import type { DataProcesses } from './data-processes.ts';

/** Prepares `config.dataProcesses` processes that serve `api` and `data` on shared ports. `entryFile`: what each runs. */
export async function serveByProcesses(config: Config, parts: ServerParts, entryFile: string): Promise<Serving> {
  const { pool, queuePool, bus, metrics, logger } = parts;
  const port = await reservePort(config.port, config.host).catch((error) => rethrowPortInUse(error, config));
  const workerApiUrl = await reserveWorkerApi(config, parts);
  const { DataProcesses } = await import('./data-processes.ts');
  const children: DataProcesses = new DataProcesses({
    entryFile,
    count: config.dataProcesses,
    config: {
      ...config,
      databaseUrl: parts.databaseUrl,
      roles: pickRoles(config.roles, 'api', 'data'),
      dataProcesses: 1,
      port,
      adminKey: null, // the first process has created it
    },
    metrics,
    logger,
    readPage: () => page.read(),
    onDeath: (processId) => void bus.forgetProcess(processId).catch(() => {}), // its row expires anyway
  });
  const pools = { main: pool, queue: queuePool };
  const page = new MetricsPage({ metrics, pool, pools, token: null, others: children });
  return {
    workerApiUrl,
    begin: async () => {
      await children.start();
      return port;
    },
    stopAccepting: () => {},
    drain: () => {}, // each does, when it is stopped
    whenNothingHeld: async () => {},
    end: () => children.stop(),
  };
}
