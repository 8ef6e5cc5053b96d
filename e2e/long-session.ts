import { randomUUID } from 'node:crypto';
import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { Holdfast } from './holdfast.ts';

/** Writes a session of so many turns, as Pi would have; its address. */
export function longSession({ url, settingsFile }: Holdfast, turns: number): string {
	const id = randomUUID();
	const timestamp = new Date().toISOString();
	const cost = { input: 0, output: 0, cacheRead: 0, cacheWrite: 0, total: 0 };
	const usage = { input: 1, output: 1, cacheRead: 0, cacheWrite: 0, totalTokens: 2, cost };
	const model = { api: 'openai-completions', provider: 'scripted', model: 'script' };
	const entries: object[] = [{ type: 'session', version: 3, id, timestamp, cwd: '/' }];
	let parentId: string | null = null;
	const say = (message: object) => {
		const entry = entries.length.toString(16).padStart(8, '0');
		const said = { ...message, timestamp: Date.now() };
		entries.push({ type: 'message', id: entry, parentId, timestamp, message: said });
		parentId = entry;
	};
	for (let turn = 1; turn <= turns; turn++) {
		say({ role: 'user', content: [{ type: 'text', text: `Question ${turn}.` }] });
		const text = `Answer ${turn}.\n\n${'A line of it.\n\n'.repeat(8)}`;
		const content = [{ type: 'text', text }];
		say({ role: 'assistant', content, ...model, usage, stopReason: 'stop' });
	}
	const folder = join(dirname(settingsFile), 'sessions/--long--');
	mkdirSync(folder, { recursive: true });
	writeFileSync(
		join(folder, `${timestamp.replace(/[:.]/g, '-')}_${id}.jsonl`),
		entries.map((entry) => `${JSON.stringify(entry)}\n`).join(''),
	);
	return new URL(`/?session=${id}`, url).href;
}
