/** Why a queued job waits, by stage: the same words in the API's reason, the command line and the console. */
export const WAIT_WORDS = {
  queue: 'the workers that are ready have other jobs, or ask for none',
  worker: 'no worker has been started for it yet',
  thaw: 'a frozen worker is being thawed',
  capacity: 'a worker waits for capacity',
  pull: 'a worker pulls its image',
  models: 'a worker waits for its models, which are being fetched',
  create: 'the container of a worker is being created',
  start: 'the container of a worker starts',
  ready: 'a worker loads its program',
} as const;
