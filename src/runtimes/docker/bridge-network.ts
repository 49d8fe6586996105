import { Failure } from '../../core/errors.ts';
import type { Logger } from '../../core/logger.ts';
import { type Engine, isRefusal } from './engine.ts';

/** The bridge network of our containers. All installations on one engine share it: networks are few, 30 by default. */
export class BridgeNetwork {
  readonly name: string;
  readonly #engine: Engine;
  readonly #logger: Logger;
  #gateway: Promise<string> | undefined;

  constructor(engine: Engine, name: string, logger: Logger) {
    this.#engine = engine;
    this.name = name;
    this.#logger = logger;
  }

  /** Makes it unless it is there, and answers its gateway: this machine as containers see it. Later calls cost nothing. */
  ensure(): Promise<string> {
    this.#gateway ??= this.#findOrCreate().catch((error) => {
      this.#gateway = undefined;
      throw error;
    });
    return this.#gateway;
  }

  /** The next `ensure` looks again. */
  forget(): void {
    this.#gateway = undefined;
  }

  async #findOrCreate(): Promise<string> {
    const gateway = (await this.#find()) ?? (await this.#create().then(() => this.#find())); // also after another process was faster
    if (!gateway) throw new Failure('unavailable', `The network ${this.name} of the container engine has no gateway`);
    return gateway;
  }

  async #find(): Promise<string | undefined> {
    try {
      const path = `/networks/${this.name}`;
      const network = await this.#engine.json<{ IPAM: { Config: { Gateway?: string }[] } }>({ method: 'GET', path });
      return network.IPAM.Config[0]?.Gateway;
    } catch (error) {
      if (isRefusal(error, 404)) return undefined;
      throw error;
    }
  }

  /** Workloads reach this machine and the internet, but not each other; they may belong to different users. */
  async #create(): Promise<void> {
    try {
      await this.#request({ 'com.docker.network.bridge.enable_icc': 'false' });
    } catch (error) {
      if (isRefusal(error, 409)) return;
      this.#logger.warn({ err: error }, 'the engine cannot keep workloads apart on its network: they reach each other');
      await this.#request({});
    }
  }

  #request(options: Record<string, string>): Promise<unknown> {
    const labels = { 'podyard.network': 'true' };
    const body = { Name: this.name, Driver: 'bridge', CheckDuplicate: true, Labels: labels, Options: options };
    return this.#engine.json({ method: 'POST', path: '/networks/create', body });
  }
}
