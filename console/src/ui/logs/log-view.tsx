import { Button, Group, Stack } from '@mantine/core';
import { useMemo, useState } from 'react';
import { useSearchParams } from 'react-router';
import { ErrorAlert } from '../error-alert.tsx';
import { LogBox } from './log-box.tsx';
import {
  isFiltered,
  type LogFilter,
  type LogPlace,
  NO_FILTER,
  readFilter,
  toQuery,
  writeFilter,
} from './log-filter.ts';
import { LogActions, LogFilters } from './log-toolbar.tsx';
import { useLineWrap } from './use-line-wrap.ts';
import { type LogState, useLog } from './use-log.ts';

interface LogViewProps {
  place: LogPlace;
  filter: LogFilter;
  onFilter: (filter: LogFilter) => void;
  /** Text that is marked in the lines beside what is searched for. */
  marked?: string;
}

/** A log: live, searched and filtered on the server. It follows its end until the reader scrolls up. */
export function LogView({ place, filter, onFilter, marked }: LogViewProps) {
  // A relative range is fixed when it is chosen: a log must not begin anew with every render.
  const query = useMemo(() => toQuery(filter, Date.now()), [filter]);
  const log = useLog(place, query);
  const [isFollowing, setFollowing] = useState(true);
  const [isPaused, setPaused] = useState(false);
  const [isWrapped, setWrapped] = useLineWrap();
  const pause = (paused: boolean) => {
    setPaused(paused);
    log.buffer.pause(paused);
    if (!paused) setFollowing(true);
  };
  return (
    <Stack gap="xs">
      <Group justify="space-between" gap="xs">
        <LogFilters filter={filter} onFilter={onFilter} />
        <LogActions
          log={log}
          place={place}
          query={query}
          isPaused={isPaused}
          onPause={pause}
          isWrapped={isWrapped}
          onWrap={setWrapped}
        />
      </Group>
      {log.error !== null && <ErrorAlert error={new Error(log.error)} />}
      <div className="log-frame">
        <LogBox
          log={log}
          marked={marked ?? filter.search}
          isWrapped={isWrapped}
          jobsPath={jobsPathOf(place)}
          hasWorkers={place.startsWith('/v2/serverless/') && filter.workerId === null}
          isFollowing={isFollowing && !isPaused}
          onFollow={setFollowing}
          empty={emptyText(log, filter)}
        />
        {!isFollowing && !isPaused && (
          <Button className="log-latest" size="compact-xs" onClick={() => setFollowing(true)}>
            Jump to latest
          </Button>
        )}
      </div>
      {isFiltered(filter) && (
        <Group gap="xs">
          <Button
            size="compact-xs"
            variant="subtle"
            onClick={() => onFilter({ ...NO_FILTER, workerId: filter.workerId })}
          >
            Clear filters
          </Button>
        </Group>
      )}
    </Stack>
  );
}

function jobsPathOf(place: LogPlace): string | null {
  const [, endpointId] = place.split('/v2/serverless/');
  return endpointId === undefined ? null : `/endpoints/${endpointId}/jobs`;
}

function emptyText({ connection, older }: LogState, filter: LogFilter): string {
  if (connection === 'connecting') return 'Connecting…';
  if (isFiltered(filter)) return older ? 'Nothing found so far.' : 'No lines match.';
  return connection === 'open' ? 'Nothing was logged yet.' : 'No lines.';
}

/** A log whose filter is in the URL. */
export function PageLog({ place }: { place: LogPlace }) {
  const [filter, setFilter] = useUrlFilter();
  return <LogView place={place} filter={filter} onFilter={setFilter} />;
}

/** A log within a drawer, with a filter of its own. */
export function PartLog({ place, workerId = null }: { place: LogPlace; workerId?: string | null }) {
  const [filter, setFilter] = useState<LogFilter>({ ...NO_FILTER, workerId });
  return <LogView place={place} filter={filter} onFilter={setFilter} />;
}

/** Returns the filter in the URL, the same object until it changes. */
export function useUrlFilter(): [LogFilter, (filter: LogFilter) => void] {
  const [query, setQuery] = useSearchParams();
  const text = query.toString();
  const filter = useMemo(() => readFilter(new URLSearchParams(text)), [text]);
  return [filter, (changed) => setQuery((old) => writeFilter(old, changed), { replace: true })];
}
