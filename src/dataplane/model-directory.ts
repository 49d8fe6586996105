import { BoundedMap } from '../core/bounded-map.ts';
import type { Clock } from '../core/clock.ts';
import type { EndpointId, UserId } from '../core/ids.ts';
import type { Bus } from '../db/bus.ts';
import type { Pool } from '../db/pool.ts';
import type { Actor } from '../domain/access/actor.ts';
import { scopesPermit } from '../domain/access/scopes.ts';
import {
  findModelEndpoints,
  listModelEndpoints,
  type ModelEndpoint,
  readModelIds,
  rememberModels,
} from '../domain/endpoints/served-models.ts';
import { EntryCache } from './entry-cache.ts';

/** The endpoints that a `model` may name; exactly one of them is called. */
interface ModelEntry {
  endpoints: readonly ModelEndpoint[];
}

const SEPARATOR = '\n';
/** No name and no list has a longer one. */
const MAX_MODEL_CHARACTERS = 200;
const MAX_REMEMBERED = 10_000;
const MAX_KEYS = 50_000;

/** Which endpoint of a user a model's name means, cached in memory, and what workers say they serve. */
export class ModelDirectory {
  readonly #pool: Pool;
  readonly #cache: EntryCache<ModelEntry>;
  /** The cached names by endpoint, so that a hint drops them. */
  readonly #keys = new BoundedMap<string, Set<string>>(MAX_KEYS);
  /** The last list of each endpoint, so that the same one costs no statement. */
  readonly #remembered = new BoundedMap<string, string>(MAX_REMEMBERED);

  constructor({ pool, bus, monotonic }: { pool: Pool; bus: Bus; monotonic: Clock }) {
    this.#pool = pool;
    this.#cache = new EntryCache({ monotonic, load: (key) => this.#load(key) });
    bus.subscribe('endpoint', (id) => this.#drop(id));
  }

  /**
   * Returns the endpoints that `model` means to the actor, of those their key may send work to: one by its id, else those of
   * that name, else those that serve it. Synchronous when cached.
   */
  find(actor: Actor, model: string): ModelEndpoint[] | Promise<ModelEndpoint[]> {
    if (model.length > MAX_MODEL_CHARACTERS || model.includes('\0')) return [];
    const found = this.#cache.find(`${actor.userId}${SEPARATOR}${model}`);
    return found instanceof Promise ? found.then((entry) => pick(actor, model, entry)) : pick(actor, model, found);
  }

  /** Returns the queue-based endpoints that the actor's key may read. */
  async list(actor: Actor): Promise<ModelEndpoint[]> {
    const endpoints = await listModelEndpoints(this.#pool, actor.userId);
    return endpoints.filter(({ id }) => scopesPermit(actor.scopes, { invoke: id, access: 'read' }));
  }

  /** Stores a worker's answer to `GET /v1/models`; ignores anything but a list of models. */
  async remember(endpointId: EndpointId, answer: unknown): Promise<void> {
    const models = readModelIds(answer);
    if (models === null) return;
    const text = JSON.stringify(models);
    if (this.#remembered.get(endpointId) === text) return;
    if (await rememberModels(this.#pool, endpointId, models)) this.#drop(endpointId);
    this.#remembered.set(endpointId, text);
  }

  async #load(key: string): Promise<ModelEntry | undefined> {
    const at = key.indexOf(SEPARATOR);
    const endpoints = await findModelEndpoints(this.#pool, key.slice(0, at) as UserId, key.slice(at + 1));
    for (const { id } of endpoints) {
      const keys = this.#keys.get(id) ?? new Set();
      this.#keys.set(id, keys.add(key));
    }
    return endpoints.length === 0 ? undefined : { endpoints };
  }

  #drop(endpointId: string): void {
    this.#remembered.delete(endpointId);
    for (const key of this.#keys.get(endpointId) ?? []) this.#cache.drop(key);
    this.#keys.delete(endpointId);
  }
}

function pick(actor: Actor, model: string, entry: ModelEntry | undefined): ModelEndpoint[] {
  const permitted = (entry?.endpoints ?? []).filter(({ id }) =>
    scopesPermit(actor.scopes, { invoke: id, access: 'write' }),
  );
  const byId = permitted.filter(({ id }) => id === model);
  if (byId.length > 0) return byId;
  const byName = permitted.filter(({ name }) => name === model);
  return byName.length > 0 ? byName : permitted.filter(({ models }) => models.includes(model));
}
