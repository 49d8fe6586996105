import { Progress } from '@mantine/core';
import { formatNumber } from '../../../ui/text/format.ts';
import { type Batch, describeProgress, progressOf } from './batch-values.ts';

/** How much of a batch has ended, with and without a result. */
export function BatchProgress({ batch }: { batch: Batch }) {
  const { completed, failed } = progressOf(batch);
  const label = `${describeProgress(batch)} requests ended`;
  return (
    <Progress.Root size="md">
      <Progress.Section value={completed} color="green" aria-label={label} />
      <Progress.Section
        value={failed}
        color="red"
        aria-label={`${formatNumber(batch.requestFailed)} without a result`}
      />
    </Progress.Root>
  );
}
