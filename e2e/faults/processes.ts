import { readdirSync, readFileSync } from 'node:fs';

export interface Process {
	pid: number;
	parent: number;
	command: string;
	environment: string[];
}

/** The processes with this entry in their environment, which their children inherit. */
export function processesWith(entry: string): Process[] {
	return readdirSync('/proc')
		.filter((name) => /^\d+$/.test(name))
		.flatMap((name) => {
			try {
				const environment = readFileSync(`/proc/${name}/environ`, 'utf8').split('\0');
				if (!environment.includes(entry)) return [];
				const stat = readFileSync(`/proc/${name}/stat`, 'utf8');
				const [state, parent] = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
				// Dead, and its parent has not looked yet.
				if (state === 'Z') return [];
				const command = readFileSync(`/proc/${name}/cmdline`, 'utf8').replaceAll('\0', ' ').trim();
				return [{ pid: Number(name), parent: Number(parent), command, environment }];
			} catch {
				// It has ended since it was listed.
				return [];
			}
		});
}

/** The Pis of a proxy: its children that were started as engines. */
export const pisOf = (proxy: number, mark: string) =>
	processesWith(mark).filter(
		({ parent, environment }) =>
			parent === proxy && environment.some((entry) => entry.startsWith('HOLDFAST_ENGINE=')),
	);

/** The value of a variable of a process. */
export const variable = ({ environment }: Process, name: string) =>
	environment.find((entry) => entry.startsWith(`${name}=`));

/** What a process has held at most, in MB. */
export function peakMemory(pid: number): number {
	const status = readFileSync(`/proc/${pid}/status`, 'utf8');
	return Number(/^VmHWM:\s+(\d+) kB$/m.exec(status)?.[1]) / 1024;
}
