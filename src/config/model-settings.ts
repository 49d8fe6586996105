import { parseInteger, parseSize } from './parse-setting.ts';
import { integer, optional } from './setting.ts';

const GIGABYTE = 1e9;

/** Models that this machine stores for its workers. */
export const MODELS = {
  /** Null: half of what they use and what is free. */
  budgetBytes: optional({
    variable: 'PODYARD_MODELS_GB',
    flag: 'modelsGb',
    takes: '<number>',
    shownDefault: 'half of the free disk',
    parse: (name, text) => parseInteger(name, text, { min: 1, max: 1_000_000, fallback: 0 }) * GIGABYTE,
    page: 'What [models](operations.md#models-on-disk) may take on disk, in GB; those used longest ago leave first',
    help: 'what models may take on disk, in GB; those used longest ago leave first',
    chart: { value: 'models.storeGb', as: 'text' },
  }),
  /** Null: there is no pull-through hub. */
  hubBudgetBytes: optional({
    variable: 'PODYARD_HUB_CACHE_GB',
    flag: 'hubCacheGb',
    takes: '<number>',
    shownDefault: 'no such hub',
    parse: (name, text) => parseInteger(name, text, { min: 1, max: 1_000_000, fallback: 0 }) * GIGABYTE,
    page: 'Give workloads a [hub of this machine](guide/models.md#a-hub-for-every-workload) as `HF_ENDPOINT`, which keeps so many GB of what they download',
    help: 'give workloads a hub of this machine, which keeps so many GB of the models that they download',
    chart: { value: 'models.hubCacheGb', as: 'text' },
  }),
  /** Null: unlimited. */
  bytesPerSecond: optional({
    variable: 'PODYARD_MODEL_BANDWIDTH',
    shownDefault: 'unlimited',
    parse: (name, text) => parseSize(name, text, { min: 2 ** 20 }),
    page: 'What all downloads of models may take together each second: `100MB`',
  }),
  parallel: integer({
    variable: 'PODYARD_MODEL_DOWNLOADS',
    default: 8,
    min: 1,
    max: 64,
    page: 'Files of a model that are fetched at once',
  }),
};
