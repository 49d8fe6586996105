import type { Companion, RunningServer } from './compose/build-server.ts';
import { pickRoles } from './compose/roles.ts';
import { CleanUpStack } from './compose/serving.ts';
import { launchDatabase, refuseSecondServer } from './compose/start-database.ts';
import type { Config } from './config/config.ts';
import { programFile } from './core/files/own-package.ts';
import type { Logger } from './core/logger.ts';
import { readCertificate } from './dataplane/wire/certificate.ts';
import { explainDataFault } from './db/explain-data-fault.ts';

export type { RunningServer };

/**
 * Builds the server from its configuration and starts it; undoes everything on failure. Most of the program loads while
 * the embedded database starts. `companion`: given to a data process, which shares its ports with others.
 */
export async function startServer(
  config: Config,
  logger: Logger,
  onProgress: (step: string) => void,
  companion: Companion | null = null,
): Promise<RunningServer> {
  const isFirstOfSeveral = config.dataProcesses > 1;
  const roles = isFirstOfSeveral ? pickRoles(config.roles, 'control') : config.roles;
  const dataProcessFile = programFile('data-process');
  const cleanUp = new CleanUpStack();
  try {
    if (config.tls !== null) await readCertificate(config.tls); // a wrong file fails before anything runs
    if (config.databaseUrl === null) await refuseSecondServer(config.dataDir);
    const { databaseUrl: url } = config;
    const database =
      url === null ? await launchDatabase(config, logger, onProgress, cleanUp) : { url: Promise.resolve(url) };
    const { buildServer } = await import('./compose/build-server.ts');
    const shared = { config, logger, companion, cleanUp };
    return await buildServer({ ...shared, roles, isFirstOfSeveral, database, dataProcessFile });
  } catch (error) {
    const explained = await explainDataFault(error, config);
    await cleanUp.run();
    throw explained;
  }
}
