import { randomBytes, randomUUID } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import type { SessionEntry } from '@earendil-works/pi-coding-agent';

/**
 * Makes a session of so many messages out of one that the real Pi wrote: its messages again and
 * again, each time with ids of their own, and as last words those given. Returns its id.
 */
export function lengthen(file: string, messages: number, lastWords: string): string {
	const [header, ...entries] = readFileSync(file, 'utf8')
		.trimEnd()
		.split('\n')
		.map((line) => JSON.parse(line) as SessionEntry);
	const id = randomUUID();
	const spoken = entries.filter(isSpoken);
	const lines: object[] = [{ ...header, id }];
	let parentId: string | null = null;
	const add = (entry: SessionEntry) => {
		lines.push({ ...entry, id: randomBytes(4).toString('hex'), parentId });
		parentId = (lines.at(-1) as SessionEntry).id;
	};

	for (const entry of entries) if (!spoken.includes(entry)) add(entry);
	for (let count = 0; count < messages; count++) {
		const round = Math.floor(count / spoken.length);
		const entry = spoken[count % spoken.length]!;
		// A call and its result share an id, which no other pair has.
		const text = JSON.stringify(entry).replace(/"(call_\w+)"/g, `"$1_${round}"`);
		const last = count === messages - 1;
		add(JSON.parse(last ? text.replaceAll('Done here.', lastWords) : text) as SessionEntry);
	}
	const name = `${basename(file).split('_')[0]}_${id}.jsonl`;
	const written = lines.map((line) => JSON.stringify(line)).join('\n');
	writeFileSync(join(dirname(file), name), `${written}\n`);
	return id;
}

const isSpoken = (entry: SessionEntry) =>
	entry.type === 'message' && ['user', 'assistant', 'toolResult'].includes(entry.message.role);
