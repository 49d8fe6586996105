import { BoundedMap } from '../../../core/bounded-map.ts';

const MAX_MODELS = 1_000;
/** Nodes that are named for a model: the scheduler looks at each preference for each node. */
const MAX_NODES = 20;

/** The nodes that got each model since this process began, for pods to prefer them. A node that it does not know costs a copy. */
export class ModelNodes {
  readonly #nodes = new BoundedMap<string, Set<string>>(MAX_MODELS);

  note(modelIds: readonly string[], node: string): void {
    for (const id of modelIds) {
      const nodes = this.#nodes.get(id) ?? new Set();
      nodes.delete(node);
      nodes.add(node);
      for (const oldest of nodes) if (nodes.size > MAX_NODES) nodes.delete(oldest);
      this.#nodes.set(id, nodes);
    }
  }

  /** Returns the nodes that got all of these. */
  having(modelIds: readonly string[]): string[] {
    const [first = new Set<string>(), ...others] = modelIds.map((id) => this.#nodes.get(id) ?? new Set<string>());
    return [...first].filter((node) => others.every((nodes) => nodes.has(node)));
  }
}
