import type { HubAccess } from '../../domain/access/hub-access.ts';

type Variables = Readonly<Record<string, string>>;

/** How workloads find the pull-through hub of their machine: by the variable that the hub's clients read. A user's own wins. */
export class WorkloadHub {
  readonly #access: HubAccess | null;
  readonly #apiUrl: string;
  readonly #knowsImages: boolean;

  /** `access`: null where there is no such hub. `knowsImages`: the runtime can tell what an image sets itself. */
  constructor(options: { access: HubAccess | null; apiUrl: string; knowsImages: boolean }) {
    this.#access = options.access;
    this.#apiUrl = options.apiUrl;
    this.#knowsImages = options.knowsImages;
  }

  /** For an image that does not set them. */
  imageDefaultsOf(id: string): Variables {
    return this.#knowsImages ? this.#variablesOf(id) : {};
  }

  /** For a workload whose user does not set them. */
  envOf(id: string): Variables {
    return this.#knowsImages ? {} : this.#variablesOf(id);
  }

  #variablesOf(id: string): Variables {
    return this.#access === null ? {} : { HF_ENDPOINT: `${this.#apiUrl}/hub/${this.#access.tokenOf(id)}` };
  }
}

/** For an installation without one. */
export const NO_HUB = new WorkloadHub({ access: null, apiUrl: '', knowsImages: true });
