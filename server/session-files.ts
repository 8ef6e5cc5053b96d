import { createReadStream } from 'node:fs';
import { lstat, open, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import type { SessionEntry } from '@earendil-works/pi-coding-agent';

/** A session of Pi on disk. */
export interface SessionFile {
	id: string;
	file: string;
	/** When it last changed, as the file system says. */
	changedAt: number;
}

const HEAD_BYTES = 256 * 1024;
const TAIL_BYTES = 16 * 1024;

/**
 * The session files below a folder, itself and one level of folders in it, newest first. Pi names
 * them `<time>_<session id>.jsonl` (its `docs/session-format.md`).
 */
export async function listSessionFiles(folder: string): Promise<SessionFile[]> {
	const entries = await readdir(folder, { withFileTypes: true }).catch(() => []);
	const found = await Promise.all(
		entries.map(async (entry) => {
			if (entry.isDirectory()) return sessionFilesIn(join(folder, entry.name));
			return sessionFile(folder, entry.name);
		}),
	);
	return found
		.flat()
		.filter((file) => file !== undefined)
		.sort((a, b) => b.changedAt - a.changedAt);
}

async function sessionFilesIn(folder: string) {
	const names = await readdir(folder).catch(() => []);
	return Promise.all(names.map((name) => sessionFile(folder, name)));
}

async function sessionFile(folder: string, name: string): Promise<SessionFile | undefined> {
	const id = /^[^_]+_(.+)\.jsonl$/.exec(name)?.[1];
	if (id === undefined) return undefined;
	const file = join(folder, name);
	// Undefined when it was removed since it was listed. A link may lead out of the folder.
	const found = await lstat(file).catch(() => undefined);
	return found?.isFile() ? { id, file, changedAt: found.mtimeMs } : undefined;
}

/** What a session is called: its name, else the first thing the person said. */
export async function sessionTitle(file: string): Promise<string> {
	let first = '';
	for await (const entry of head(file)) {
		if (entry.type === 'session_info' && entry.name) first = entry.name;
		if (first === '' && entry.type === 'message' && entry.message.role === 'user') {
			const { content } = entry.message;
			first =
				typeof content === 'string'
					? content
					: content.map((part) => (part.type === 'text' ? part.text : '')).join(' ');
			break;
		}
	}
	return (await lastName(file)) ?? first;
}

/** The folder a session was held in. */
export async function sessionFolder(file: string): Promise<string | undefined> {
	for await (const entry of head(file) as AsyncIterable<object>) {
		return 'cwd' in entry && typeof entry.cwd === 'string' ? entry.cwd : undefined;
	}
	return undefined;
}

async function* head(file: string): AsyncGenerator<SessionEntry> {
	const lines = createInterface({ input: createReadStream(file, { end: HEAD_BYTES - 1 }) });
	for await (const line of lines) {
		const entry = parse(line);
		if (entry) yield entry;
	}
}

async function lastName(file: string): Promise<string | undefined> {
	for (const line of (await tail(file)).split('\n').reverse()) {
		const entry = line.includes('"session_info"') ? parse(line) : undefined;
		if (entry?.type === 'session_info') return entry.name;
	}
	return undefined;
}

async function tail(file: string): Promise<string> {
	const handle = await open(file);
	try {
		const { size } = await handle.stat();
		const length = Math.min(size, TAIL_BYTES);
		const { buffer } = await handle.read(Buffer.alloc(length), 0, length, size - length);
		return buffer.toString('utf8');
	} finally {
		await handle.close();
	}
}

function parse(line: string): SessionEntry | undefined {
	try {
		return JSON.parse(line) as SessionEntry;
	} catch {
		// A line cut by our own limit, or torn on a full disk.
		return undefined;
	}
}
