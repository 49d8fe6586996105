import { Skeleton } from '@mantine/core';
import { type ReactNode, Suspense } from 'react';
import { Panel } from '../panel.tsx';

/** A panel with a chart, and a placeholder until the chart's script is loaded. */
export function ChartPanel({ title, children }: { title: string; children: ReactNode }) {
  return (
    <Panel title={title} padding="sm">
      <Suspense fallback={<Skeleton h={176} />}>{children}</Suspense>
    </Panel>
  );
}
