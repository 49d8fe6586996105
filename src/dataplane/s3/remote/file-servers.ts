import { connect, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { BoundedMap } from '../../../core/bounded-map.ts';
import type { SecretBox } from '../../../core/secret-box.ts';
import type { Bus } from '../../../db/bus.ts';
import type { Pool } from '../../../db/pool.ts';
import { openHubAccess } from '../../../domain/access/hub-access.ts';
import type { FileServerPods } from '../../../runtimes/runtime.ts';
import { onlyFromPods, S3Error } from '../s3-error.ts';

interface Deps {
  pool: Pool;
  secretBox: SecretBox;
  bus: Pick<Bus, 'publish'>;
  pods: FileServerPods;
}

interface Place {
  host: string;
  port: number;
}

const MAX_KNOWN = 10_000;
const CONNECT_MS = 3_000;
const POLL_MS = 500;
/** Longer than a node takes to pull the image, and about as long as clients wait. */
const START_MS = 90_000;

/** Connects to the programs that serve the files of volumes, and has the leader start those that are missing. */
export class FileServers {
  readonly #deps: Deps;
  readonly #places = new BoundedMap<string, Promise<Place>>(MAX_KNOWN);
  #access: ReturnType<typeof openHubAccess> | undefined;

  constructor(deps: Deps) {
    this.#deps = deps;
  }

  /** The secret that the program of a volume asks for. */
  async tokenOf(volumeId: string): Promise<string> {
    const { pool, secretBox } = this.#deps;
    this.#access ??= openHubAccess(pool, secretBox).catch((error) => {
      this.#access = undefined;
      throw error;
    });
    return (await this.#access).fileServerToken(volumeId);
  }

  /** Resolves with a new connection. Throws `SlowDown` with what the program waits for, and `NotImplemented` where there can be none. */
  async connect(volumeId: string): Promise<Socket> {
    const { hindrance } = this.#deps.pods;
    if (hindrance !== null) throw onlyFromPods(hindrance);
    const known = this.#places.get(volumeId);
    const place = await (known ?? this.#look(volumeId));
    const socket = await dial(place);
    if (socket) return socket;
    if (this.#places.get(volumeId) === known) this.#places.delete(volumeId);
    const other = await dial(await (this.#places.get(volumeId) ?? this.#look(volumeId)));
    if (other === null) throw absent('it does not answer');
    return other;
  }

  /** All requests for a volume wait for the same program. */
  #look(volumeId: string): Promise<Place> {
    const place = this.#await(volumeId);
    this.#places.set(volumeId, place);
    place.catch(() => {
      if (this.#places.get(volumeId) === place) this.#places.delete(volumeId);
    });
    return place;
  }

  async #await(volumeId: string): Promise<Place> {
    const { pods, bus } = this.#deps;
    const deadline = performance.now() + START_MS;
    let waits = 'Podyard has not started it yet';
    while (performance.now() < deadline) {
      const found = await pods.find(volumeId);
      if (found === null) bus.publish('files', volumeId);
      else if ('waits' in found) waits = found.waits;
      else {
        const socket = await dial(found);
        socket?.destroy();
        if (socket) return found;
        waits = 'it does not answer';
      }
      await sleep(POLL_MS);
    }
    throw absent(waits);
  }
}

function absent(why: string): S3Error {
  return new S3Error('SlowDown', `The program that serves the files of this network volume is not there: ${why}.`);
}

/** Null: nobody answers. */
function dial({ host, port }: Place): Promise<Socket | null> {
  return new Promise((resolve) => {
    const socket = connect({ host, port, noDelay: true });
    const end = (result: Socket | null) => {
      clearTimeout(timer);
      socket.removeAllListeners('error');
      if (result === null) {
        socket.on('error', () => {});
        socket.destroy();
      }
      resolve(result);
    };
    const timer = setTimeout(() => end(null), CONNECT_MS);
    socket.once('connect', () => end(socket));
    socket.once('error', () => end(null));
  });
}
