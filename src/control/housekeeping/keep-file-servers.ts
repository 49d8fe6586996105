import { Loop } from '../../core/flow/loop.ts';
import type { Logger } from '../../core/logger.ts';
import type { SecretBox } from '../../core/secret-box.ts';
import { SeldomLog } from '../../core/seldom-log.ts';
import type { Bus } from '../../db/bus.ts';
import type { Pool } from '../../db/pool.ts';
import { openHubAccess } from '../../domain/access/hub-access.ts';
import { listVolumesWithIds } from '../../domain/volumes/volume-store.ts';
import type { FileServerPods } from '../../runtimes/runtime.ts';

const TICK_MS = 60_000;

interface Deps {
  pool: Pool;
  bus: Bus;
  logger: Logger;
  secretBox: SecretBox;
  fileServers: FileServerPods;
}

/** Starts the programs that serve the files of volumes when somebody asks for them, and removes those that have ended. */
export function fileServersLoop({ pool, bus, logger, secretBox, fileServers }: Deps): Loop {
  const asked = new Set<string>();
  const log = new SeldomLog(logger);
  return new Loop({
    name: 'keep-file-servers',
    tickMs: TICK_MS,
    logger,
    subscribe: (wake) => [
      bus.subscribe('files', (id) => {
        asked.add(id);
        wake();
      }),
      () => log.close(),
    ],
    runOnce: async () => {
      const ids = [...asked];
      asked.clear();
      if (ids.length === 0) {
        await fileServers.sweep();
        return undefined;
      }
      const access = await openHubAccess(pool, secretBox);
      for (const volume of await listVolumesWithIds(pool, ids)) {
        const { id, dataCenterId } = volume;
        await fileServers
          .start({ kind: 'volume', id, dataCenterId }, volume, access.fileServerToken(id))
          .catch((err) => log.warn({ volumeId: id, err }, "starting the program that serves a volume's files failed"));
      }
      return undefined;
    },
  });
}
