import { Skeleton } from '@mantine/core';
import { type ReactNode, Suspense } from 'react';
import { Panel } from './panel.tsx';

/** A panel with a chart, whose place is held until the charts' own script has come. */
export function ChartPanel({ title, children }: { title: string; children: ReactNode }) {
  return (
    <Panel title={title} padding="sm">
      <Suspense fallback={<Skeleton h={176} />}>{children}</Suspense>
    </Panel>
  );
}
