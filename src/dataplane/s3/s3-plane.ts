import type { Clock } from '../../core/clock.ts';
import { Batcher } from '../../core/flow/batcher.ts';
import type { SecretBox } from '../../core/secret-box.ts';
import { TEAM_HEADER } from '../../core/team-header.ts';
import type { Bus } from '../../db/bus.ts';
import type { Pool } from '../../db/pool.ts';
import type { KeyRing } from '../../domain/access/key-ring.ts';
import { S3KeyRing } from '../../domain/s3-keys/s3-key-ring.ts';
import type { Volume } from '../../domain/volumes/volume.ts';
import { VolumeCharges } from '../../domain/volumes/volume-charges.ts';
import { findVolumeRows, listVolumeRows, type OwnedVolume } from '../../domain/volumes/volume-store.ts';
import { authenticateCaller } from '../../http/authenticate.ts';
import type { CallRequest, CallResponse } from '../../http/call-messages.ts';
import { newRequestId } from '../../http/problem.ts';
import { SESSION_HEADER } from '../../http/session-cookie.ts';
import type { WorkloadStorage } from '../../runtimes/runtime.ts';
import { NameCache } from './listing/name-cache.ts';
import { refuse } from './refuse.ts';
import { FileServers } from './remote/file-servers.ts';
import { oneAtATime, type S3Call, type S3Deps } from './s3-call.ts';
import { S3Error } from './s3-error.ts';
import { headerOf, parseS3Request, type S3Request } from './s3-request.ts';
import { S3Response } from './s3-response.ts';
import { SharedFolders } from './shared-folders.ts';
import { checkSignature, readClaim } from './signature.ts';

/** Requests of one user at a time: each holds a few descriptors, and two buffers at most. */
const MAX_PER_USER = 128;

/** S3 for network volumes: a volume is a bucket, a file an object (docs/interface/s3.md). */
export class S3Plane {
  readonly #deps: S3Deps & { clock: Clock; keyRing: KeyRing };
  readonly #s3Keys: S3KeyRing;
  readonly #running = new Map<string, number>();

  constructor(
    deps: Pick<S3Deps, 'logger'> & {
      pool: Pool;
      storage: WorkloadStorage;
      bus: Pick<Bus, 'subscribe' | 'publish'>;
      clock: Clock;
      keyRing: KeyRing;
      secretBox: SecretBox;
    },
  ) {
    const volumes = new Batcher<OwnedVolume, Volume | undefined>({
      ...{ lanes: 2, maxSize: 256, isCallFault: () => false },
      flush: (calls) => findVolumeRows(deps.pool, calls),
    });
    const { fileServers } = deps.storage;
    this.#deps = {
      ...deps,
      volumes,
      listVolumes: (userId) => listVolumeRows(deps.pool, userId),
      charges: new VolumeCharges(deps.pool),
      fileServers: fileServers ? new FileServers({ ...deps, pods: fileServers }) : null,
      names: new NameCache(),
      folders: new SharedFolders(),
      moves: oneAtATime(),
    };
    this.#s3Keys = new S3KeyRing(deps);
  }

  /** Answers a request whose path `isS3Path`. */
  handle(req: CallRequest, res: CallResponse): void {
    const response = new S3Response(res, newRequestId());
    this.#answer(req, response).catch((thrown) => refuse(this.#deps.logger, { req, res: response }, thrown));
  }

  close(): void {
    this.#s3Keys.close();
  }

  async #answer(req: CallRequest, res: S3Response): Promise<void> {
    const request = parseS3Request(req);
    const sender = await this.#authenticate(request);
    const { userId } = sender.actor;
    const running = this.#running.get(userId) ?? 0;
    if (running >= MAX_PER_USER)
      throw new S3Error('SlowDown', `${MAX_PER_USER} requests of yours are running: try again.`);
    this.#running.set(userId, running + 1);
    try {
      const { runOperation } = await import('./s3-routes.ts'); // with all operations: many servers have no volume
      await runOperation({ deps: this.#deps, request, res, ...sender });
    } finally {
      const left = this.#running.get(userId)! - 1;
      if (left === 0) this.#running.delete(userId);
      else this.#running.set(userId, left);
    }
  }

  /** By a signature with an S3 key; by an API key, as the command line does, or a session, as the console does, also for a team. */
  async #authenticate(request: S3Request): Promise<Pick<S3Call, 'actor' | 'signing'>> {
    const { clock, keyRing } = this.#deps;
    const claim = readClaim(request, clock.now());
    if (claim === null) {
      const authorization = headerOf(request, 'authorization');
      if (authorization === undefined && headerOf(request, SESSION_HEADER) === undefined)
        throw new S3Error('AccessDenied', 'The request is not signed: use an S3 key, or an API key as bearer token.');
      if (authorization?.startsWith('AWS '))
        throw new S3Error('InvalidRequest', 'Signature Version 2 is not supported: use AWS4-HMAC-SHA256.');
      const caller = await authenticateCaller(keyRing, request.req);
      return { actor: await keyRing.teams.actFor(caller, request.req.headers[TEAM_HEADER]), signing: null };
    }
    const signer = await this.#s3Keys.find(claim.accessKeyId);
    if (signer === null)
      throw new S3Error(
        'InvalidAccessKeyId',
        'There is no S3 key with this access key id, or it was revoked or has expired.',
      );
    return { actor: signer.actor, signing: checkSignature(request, claim, signer.secret) };
  }
}
