import type { Config } from '../../config/config.ts';
import { messageOf } from '../../core/errors.ts';
import type { Finding } from './finding.ts';

const what = 'builds';

/** Tries what would build and keep images for the nodes of a cluster. */
export async function checkBuilds(config: Config): Promise<Finding[]> {
  const { engine: address, registry: wanted, atOnce } = config.builds;
  if (atOnce === 0) return [];
  if (address === null || wanted === null) {
    const advice = 'To deploy folders, set PODYARD_BUILD_ENGINE and PODYARD_BUILD_REGISTRY (docs/guide/builds.md).';
    return [{ what, verdict: 'note', found: 'none: images come from registries alone', advice }];
  }
  const [{ createPushingBuilder }, { Engine }, { readBuildEngine, readBuildRegistry }] = await Promise.all([
    import('../../builders/pushed/pushing-builder.ts'),
    import('../../engine/engine.ts'),
    import('../../builders/pushed/read-places.ts'),
  ]);
  try {
    const [place, registry] = await Promise.all([readBuildEngine(config), readBuildRegistry(config)]);
    const engine = new Engine(place);
    const builder = createPushingBuilder({ engine, registry: registry!, installation: '', isUsed: async () => false });
    const hindrance = await builder.hindrance().finally(() => engine.close());
    const found = hindrance ?? `an engine builds, and ${wanted.host}/${wanted.repository} answers`;
    return [{ what, verdict: hindrance === null ? 'ok' : 'note', found }];
  } catch (error) {
    return [{ what, verdict: 'missing', found: messageOf(error) }];
  }
}
