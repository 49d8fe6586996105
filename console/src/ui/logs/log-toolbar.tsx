import { Button, Group, Select, TextInput } from '@mantine/core';
import { useDebouncedCallback } from '@mantine/hooks';
import { IconDownload, IconPlayerPause, IconPlayerPlay, IconSearch, IconTextWrap } from '@tabler/icons-react';
import { useState } from 'react';
import { messageOf } from '../../api/api-error.ts';
import { request } from '../../api/client.ts';
import { LiveBadge } from '../live-badge.tsx';
import { notifyError } from '../notify.ts';
import { saveFile } from '../save-file.ts';
import {
  downloadPath,
  LEVELS,
  type LogFilter,
  type LogLevel,
  type LogPlace,
  type LogQuery,
  RANGES,
  type RelativeRange,
} from './log-filter.ts';
import type { LogState } from './use-log.ts';

const SEARCH_AFTER_MS = 300;
const CUSTOM = 'custom';

interface FilterProps {
  filter: LogFilter;
  onFilter: (filter: LogFilter) => void;
}

/** Search, level, source and time range of a log. */
export function LogFilters({ filter, onFilter }: FilterProps) {
  const [search, setSearch] = useState(filter.search);
  const apply = useDebouncedCallback((text: string) => onFilter({ ...filter, search: text }), SEARCH_AFTER_MS);
  const [shown, setShown] = useState(filter.search);
  // Another link, or "Clear": the box follows the filter, but not while it is typed into.
  if (shown !== filter.search) {
    setShown(filter.search);
    setSearch(filter.search);
  }
  return (
    <Group gap="xs" align="flex-end" className="filters" flex={1}>
      <TextInput
        size="xs"
        aria-label="Search the log"
        placeholder="Search"
        maxLength={200}
        leftSection={<IconSearch size={14} aria-hidden />}
        value={search}
        onChange={({ currentTarget }) => {
          setSearch(currentTarget.value);
          apply(currentTarget.value);
        }}
        className="filter-search"
      />
      <Select
        size="xs"
        aria-label="Level"
        placeholder="All levels"
        clearable
        data={Object.entries(LEVELS).map(([value, label]) => ({ value, label }))}
        value={filter.level}
        onChange={(level) => onFilter({ ...filter, level: level as LogLevel | null })}
      />
      <Select
        size="xs"
        aria-label="Source"
        placeholder="All sources"
        clearable
        data={[
          { value: 'container', label: 'Container' },
          { value: 'system', label: 'System' },
        ]}
        value={filter.source}
        onChange={(source) => onFilter({ ...filter, source: source as LogFilter['source'] })}
      />
      <TimeRange filter={filter} onFilter={onFilter} />
    </Group>
  );
}

function TimeRange({ filter, onFilter }: FilterProps) {
  const hasTimes = filter.since !== null || filter.until !== null;
  const [isCustom, setCustom] = useState(hasTimes);
  const choose = (value: string | null) => {
    setCustom(value === CUSTOM);
    if (value === CUSTOM) return;
    onFilter({ ...filter, range: value as RelativeRange | null, since: null, until: null });
  };
  return (
    <>
      <Select
        size="xs"
        aria-label="Time"
        placeholder="Any time"
        clearable
        data={[
          ...Object.entries(RANGES).map(([value, { label }]) => ({ value, label })),
          { value: CUSTOM, label: 'From … until …' },
        ]}
        value={hasTimes || isCustom ? CUSTOM : filter.range}
        onChange={choose}
      />
      {(hasTimes || isCustom) && (
        <>
          <TimeInput
            label="From"
            value={filter.since}
            onChange={(since) => onFilter({ ...filter, range: null, since })}
          />
          <TimeInput
            label="Until"
            value={filter.until}
            onChange={(until) => onFilter({ ...filter, range: null, until })}
          />
        </>
      )}
    </>
  );
}

/** A local time, as the browser enters it: to the second, without a time zone. */
function TimeInput(props: { label: string; value: string | null; onChange: (time: string | null) => void }) {
  const at = props.value === null ? null : new Date(props.value);
  const local = at && new Date(at.getTime() - at.getTimezoneOffset() * 60_000).toISOString().slice(0, 19);
  return (
    <TextInput
      size="xs"
      type="datetime-local"
      step={1}
      aria-label={props.label}
      title={props.label}
      defaultValue={local ?? ''}
      onChange={({ currentTarget }) => {
        const time = new Date(currentTarget.value);
        props.onChange(Number.isNaN(time.getTime()) ? null : time.toISOString());
      }}
    />
  );
}

interface ActionProps {
  log: LogState;
  place: LogPlace;
  query: LogQuery;
  isPaused: boolean;
  onPause: (isPaused: boolean) => void;
  isWrapped: boolean;
  onWrap: (isWrapped: boolean) => void;
}

/** Pause, wrap and download, and whether the log is live. */
export function LogActions({ log, place, query, isPaused, onPause, isWrapped, onWrap }: ActionProps) {
  const [isSaving, setSaving] = useState(false);
  const save = async () => {
    setSaving(true);
    const name = `${query.workerId ?? place.split('/').at(-1)!}.log`;
    await saveLog(downloadPath(place, query), name).catch((error) => notifyError(messageOf(error)));
    setSaving(false);
  };
  const isLive = log.connection !== 'closed';
  return (
    <Group gap="xs">
      {isLive && (
        <Button
          size="compact-sm"
          variant="default"
          leftSection={isPaused ? <IconPlayerPlay size={14} aria-hidden /> : <IconPlayerPause size={14} aria-hidden />}
          onClick={() => onPause(!isPaused)}
        >
          {isPaused ? `Resume${log.waiting > 0 ? ` (${log.waiting} new)` : ''}` : 'Pause'}
        </Button>
      )}
      <Button
        size="compact-sm"
        variant={isWrapped ? 'light' : 'default'}
        aria-pressed={isWrapped}
        leftSection={<IconTextWrap size={14} aria-hidden />}
        onClick={() => onWrap(!isWrapped)}
      >
        Wrap
      </Button>
      <Button
        size="compact-sm"
        variant="default"
        loading={isSaving}
        leftSection={<IconDownload size={14} aria-hidden />}
        onClick={() => void save()}
      >
        Download
      </Button>
      {isLive && <LiveBadge isOpen={log.connection === 'open'} />}
    </Group>
  );
}

/** Chromium's dialog: it returns a file that the user chose, which is written piece by piece. */
type SaveFilePicker = (options: { suggestedName: string }) => Promise<FileSystemFileHandle>;

/**
 * Saves what a path answers as a file. Where the browser allows it, the answer goes to the file as it comes; elsewhere the
 * browser holds it first. Returns false if the user chose no file.
 */
async function saveLog(path: string, fileName: string): Promise<boolean> {
  const { showSaveFilePicker } = window as { showSaveFilePicker?: SaveFilePicker };
  if (showSaveFilePicker) {
    const handle = await showSaveFilePicker({ suggestedName: fileName }).catch((error: unknown) => {
      if (error instanceof DOMException && error.name === 'AbortError') return null;
      throw error;
    });
    if (!handle) return false;
    const [response, file] = await Promise.all([request(path), handle.createWritable()]);
    await response.body!.pipeTo(file);
    return true;
  }
  saveFile(fileName, await (await request(path)).blob());
  return true;
}
