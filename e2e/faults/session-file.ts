import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Scripted } from '../../server/bridge/real-pi.ts';
import type { Tally } from './tally.ts';

interface Entry {
	type: string;
	message?: { role: string };
}

/** Pi's session files of a bench. */
export const sessionFiles = ({ agentDir }: Pick<Scripted, 'agentDir'>) =>
	readdirSync(join(agentDir, 'sessions'), { recursive: true, encoding: 'utf8' })
		.filter((name) => name.endsWith('.jsonl'))
		.map((name) => join(agentDir, 'sessions', name));

/** What a session file holds; each line must be whole, the last one too. */
export function wholeLines(tally: Tally, file: string): Entry[] {
	const text = readFileSync(file, 'utf8');
	tally.expect(text.endsWith('\n'), 'the session file ends in the middle of a line');
	return text
		.trimEnd()
		.split('\n')
		.flatMap((line) => {
			try {
				return [JSON.parse(line) as Entry];
			} catch {
				tally.problem(`a torn line in the session file: ${line.slice(0, 80)}`);
				return [];
			}
		});
}
