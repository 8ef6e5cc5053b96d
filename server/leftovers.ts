import { readdirSync, readFileSync } from 'node:fs';

/** A process that outlived who started it. */
export interface Leftover {
	pid: number;
	command: string;
}

const ROUNDS = 20;
const ROUND_MS = 25;

/**
 * Ends every process that carries `name=value` in its environment, and says which. Waits until they
 * are gone, for half a second at most. Only Linux shows environments; elsewhere nothing is found.
 */
export async function endProcesses(name: string, value: string): Promise<Leftover[]> {
	const ended = new Map<number, Leftover>();
	for (let round = 0; round < ROUNDS; round++) {
		const found = processesWith(name, value);
		if (found.length === 0) break;
		for (const leftover of found) {
			ended.set(leftover.pid, leftover);
			try {
				process.kill(leftover.pid, 'SIGKILL');
			} catch {
				// Ended by itself since we looked.
			}
		}
		await new Promise((resolve) => setTimeout(resolve, ROUND_MS));
	}
	return [...ended.values()];
}

function processesWith(name: string, value: string): Leftover[] {
	if (process.platform !== 'linux') return [];
	const wanted = `${name}=${value}`;
	return readdirSync('/proc')
		.filter((entry) => /^\d+$/.test(entry) && entry !== String(process.pid))
		.flatMap((pid) => {
			try {
				if (!readFileSync(`/proc/${pid}/environ`, 'utf8').split('\0').includes(wanted)) return [];
				const command = readFileSync(`/proc/${pid}/cmdline`, 'utf8').replaceAll('\0', ' ').trim();
				return [{ pid: Number(pid), command }];
			} catch {
				// Another user's process, or one that has just ended.
				return [];
			}
		});
}
