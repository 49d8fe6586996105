import { Failure } from '../../core/errors.ts';
import { doEach } from '../../core/flow/do-each.ts';
import { Loop } from '../../core/flow/loop.ts';
import type { Logger } from '../../core/logger.ts';
import type { Bus } from '../../db/bus.ts';
import type { Pool } from '../../db/pool.ts';
import { systemActor } from '../../domain/access/actor.ts';
import { change } from '../../domain/change.ts';
import { type Deployable, deployBuild, endDeployment, listDeployable } from '../../domain/git-sources/build-commit.ts';
import { noteError } from '../../domain/git-sources/git-source-store.ts';

const TICK_MS = 30_000;
/** A build prints often, and each time there is a hint. */
const PAUSE_MS = 100;

interface Deps {
  pool: Pool;
  bus: Pick<Bus, 'publish' | 'subscribe' | 'onGap'>;
  logger: Logger;
}

/** Has endpoints take the images of finished builds of their repositories. */
export function deployGitBuildsLoop({ pool, bus, logger }: Deps): Loop {
  const deploy = async ({ id, userId, gitSourceId }: Deployable) => {
    try {
      const endpoint = await change({ pool, bus, logger }, systemActor(userId), deployBuild, { id });
      if (endpoint)
        logger.info({ buildId: id, endpointId: endpoint.id, version: endpoint.version }, 'build of a commit deployed');
    } catch (error) {
      if (!(error instanceof Failure)) throw error;
      logger.warn({ buildId: id, err: error }, 'build of a commit not deployed');
      await endDeployment(pool, id, 'DROPPED');
      if (gitSourceId) await noteError(pool, gitSourceId, `Build ${id} could not be deployed: ${error.message}`);
    }
  };
  return new Loop({
    name: 'deploy-git-builds',
    tickMs: TICK_MS,
    logger,
    pauseMs: () => PAUSE_MS,
    runOnce: async () => {
      await doEach(await listDeployable(pool), deploy);
      return undefined;
    },
    subscribe: (wake) => [bus.subscribe('build', wake), bus.onGap(wake)],
  });
}
