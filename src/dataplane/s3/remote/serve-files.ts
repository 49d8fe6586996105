import { createHash, timingSafeEqual } from 'node:crypto';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { systemClock } from '../../../core/clock.ts';
import type { KeyId, UserId } from '../../../core/ids.ts';
import type { Logger } from '../../../core/logger.ts';
import type { Actor } from '../../../domain/access/actor.ts';
import { parseScope } from '../../../domain/access/scopes.ts';
import type { Volume } from '../../../domain/volumes/volume.ts';
import type { CallRequest, CallResponse } from '../../../http/call-messages.ts';
import { newRequestId } from '../../../http/problem.ts';
import { Folder } from '../../../runtimes/directories/folder.ts';
import { sweepUploads } from '../../../runtimes/directories/sweep-uploads.ts';
import { answerOnWire } from '../../wire/wire-response.ts';
import { WireServer } from '../../wire/wire-server.ts';
import { NameCache } from '../listing/name-cache.ts';
import { refuse } from '../refuse.ts';
import { oneAtATime } from '../s3-call.ts';
import { S3Error } from '../s3-error.ts';
import { isS3Path, parseS3Request } from '../s3-request.ts';
import { S3Response } from '../s3-response.ts';
import { runOperation } from '../s3-routes.ts';
import { SharedFolders } from '../shared-folders.ts';
import { TOKEN_HEADER, VOLUME_HEADER } from './forward.ts';

export interface ServeFilesOptions {
  /** The top directory of the volume. */
  root: string;
  /** 0: any. */
  port: number;
  token: string;
  /** Ends after so long without a request. */
  idleMs: number;
  logger: Logger;
}

export interface FileServer {
  port: number;
  /** Resolves once nobody has asked for so long. */
  idle: Promise<void>;
  close(): Promise<void>;
}

const IDLE_CHECKS = 10;
/** A server asks, which has checked what its client may do. */
const SERVER: Actor = { userId: '' as UserId, keyId: '' as KeyId, scopes: [parseScope('files:write')] };

/** Serves the files of one volume to servers, which have checked who may do what, as they serve those of volumes that they mount. */
export async function serveFiles({ root, port, token, idleMs, logger }: ServeFilesOptions): Promise<FileServer> {
  const top = await Folder.open(root);
  await sweepUploads(top, systemClock.now()).finally(() => top.close());
  const [names, folders, moves] = [new NameCache(), new SharedFolders(), oneAtATime()];
  const room = new Room();
  let running = 0;
  let lastMs = performance.now();

  const answer = async (req: CallRequest, res: S3Response) => {
    if (!isSame(req.headers[TOKEN_HEADER], token))
      throw new S3Error('AccessDenied', 'The secret of servers is missing.');
    const volume = JSON.parse(String(req.headers[VOLUME_HEADER])) as Volume;
    const deps = {
      ...{ names, folders, moves, logger, fileServers: null },
      storage: { openFiles: () => Folder.open(root) },
      charges: { add: (_: string, bytes: number) => Promise.resolve(room.add(volume, bytes)) },
      listVolumes: async () => [],
      volumes: {
        run: async ({ id }: { id: string }) => {
          if (id === volume.id) return volume;
          const text = 'Files are not copied from one network volume of a cluster to another: get them, and put them.';
          throw new S3Error('NotImplemented', text);
        },
      },
    };
    await runOperation({ deps, request: parseS3Request(req), res, actor: SERVER, signing: null });
  };
  const handle = (req: CallRequest, res: CallResponse) => {
    running += 1;
    res.once('close', () => {
      running -= 1;
      lastMs = performance.now();
    });
    const response = new S3Response(res, newRequestId());
    answer(req, response).catch((thrown) => refuse(logger, { req, res: response }, thrown));
  };
  const wire = new WireServer({
    ...{ tls: null, trustedProxies: null, limits: { maxHeadBytes: 32_768, idleTimeoutMs: 75_000 } },
    dispatch: ({ target }) =>
      isS3Path(target) ? (exchange) => answerOnWire(exchange, exchange.target, '', handle) : null,
  });
  wire.server.listen(port);
  await once(wire.server, 'listening');
  let timer: NodeJS.Timeout | undefined;
  const idle = new Promise<void>((resolve) => {
    timer = setInterval(() => {
      if (running === 0 && performance.now() - lastMs >= idleMs) resolve();
    }, idleMs / IDLE_CHECKS);
  });
  return {
    port: (wire.server.address() as AddressInfo).port,
    idle,
    close: async () => {
      clearInterval(timer);
      await wire.close();
    },
  };
}

function isSame(given: string | string[] | undefined, token: string): boolean {
  return typeof given === 'string' && timingSafeEqual(digest(given), digest(token));
}

function digest(text: string): Buffer {
  return createHash('sha256').update(text).digest();
}

/** Counts what the volume holds: as it was last measured, and what was written and removed since. */
class Room {
  #measured = 0;
  #added = 0;

  /** False, and nothing is added, if the volume would then hold more than its size. */
  add({ usedBytes, sizeGb }: Volume, bytes: number): boolean {
    if (usedBytes !== this.#measured) this.#added = 0;
    this.#measured = usedBytes;
    if (bytes > 0 && usedBytes + this.#added + bytes > sizeGb * 2 ** 30) return false;
    this.#added += bytes;
    return true;
  }
}
