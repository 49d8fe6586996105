/** What an installation runs on: decided when the server starts, told to people before they wonder. */
export interface InstallationFacts {
  /** Labels its containers and pods. */
  id: string;
  version: string;
  runtime: 'docker' | 'process' | 'simulated' | 'kubernetes';
  /** Whether a worker is kept from this machine and from other workers. */
  isIsolated: boolean;
  areGpusSimulated: boolean;
  /** What FlashBoot does with a worker that rests: stop all execution, leave it running with little CPU, or nothing. */
  freeze: 'freezer' | 'parked' | null;
  /** Sentences that an operator should read once, without a period. */
  notices: string[];
}
