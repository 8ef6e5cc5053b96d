import { spawn, type ChildProcessWithoutNullStreams } from 'node:child_process';
import { RecordSplitter } from './jsonl.ts';
import type {
	RpcCommand,
	RpcExtensionUIResponse,
	RpcResponse,
} from '@earendil-works/pi-coding-agent';

/** How to start a Pi: the words of the command, without the flags the bridge adds. */
export interface PiCommand {
	command: string;
	args: string[];
}

/** How a Pi process ended, and the last it wrote to stderr (at most 4,000 characters). */
export interface PiExit {
	code: number | null;
	signal: NodeJS.Signals | null;
	stderr: string;
	/** Why it could not be started at all, in the words of the system. */
	startError?: string;
}

type CommandType = RpcCommand['type'];
type Answer<T extends CommandType> =
	Extract<RpcResponse, { command: T; success: true }> extends {
		data: infer Data;
	}
		? Data
		: undefined;

/** A command without the `id` that {@link Pi.ask} gives it. */
export type PiRequest<T extends CommandType> = Omit<Extract<RpcCommand, { type: T }>, 'id'> & {
	type: T;
};

/** Pi refused a command, cannot be reached, or has ended. `message` is for the person who reads it. */
export class PiError extends Error {
	override name = 'PiError';
}

const STDERR_KEPT = 4_000;
/** How long to wait for the rest of the output when others hold the pipes of a Pi that has ended. */
const DRAIN_MS = 500;
const ORDERLY_EXIT_MS = 3_000;
const TERMINATED_EXIT_MS = 2_000;

/**
 * One `pi --mode rpc` process: ask, answer, records, exit. Says nothing about what records mean.
 * Its stdout is always drained, since a Pi whose reader stops grows without bound.
 */
export class Pi {
	/** Resolves, never rejects, when the process has ended and its last record was delivered. */
	readonly exited: Promise<PiExit>;

	#child: ChildProcessWithoutNullStreams;
	#splitter = new RecordSplitter();
	#pending = new Map<
		string,
		{ resolve: (data: unknown) => void; reject: (error: Error) => void }
	>();
	#lastId = 0;
	#stderr = '';
	#ended: PiExit | undefined;

	/** `onrecord` gets every record that does not answer a command, parsed, in order. */
	constructor(
		{ command, args }: PiCommand,
		options: { cwd: string; env: NodeJS.ProcessEnv; onrecord: (record: object) => void },
	) {
		this.#child = spawn(command, args, {
			cwd: options.cwd,
			env: options.env,
			stdio: 'pipe',
			// Ctrl+C in the proxy's terminal is for the proxy, which then ends Pi in good order.
			detached: process.platform !== 'win32',
		});

		this.#child.stdout.on('data', (chunk: Buffer) => {
			for (const line of this.#splitter.push(chunk)) this.#receive(line, options.onrecord);
		});
		this.#child.stderr.on('data', (chunk: Buffer) => {
			this.#stderr = (this.#stderr + chunk.toString('utf8')).slice(-STDERR_KEPT);
		});
		// A write to a Pi that just ended fails here; `exited` tells it better.
		this.#child.stdin.on('error', () => {});

		this.exited = new Promise((resolve) => {
			let drained: NodeJS.Timeout | undefined;
			const end = (exit: Omit<PiExit, 'stderr'>) => {
				clearTimeout(drained);
				if (this.#ended) return;
				this.#ended = { ...exit, stderr: this.#stderr.trim() };
				for (const { reject } of this.#pending.values()) reject(this.#gone());
				this.#pending.clear();
				resolve(this.#ended);
			};
			this.#child.on('error', (error) => {
				if (this.#child.pid === undefined)
					end({ code: null, signal: null, startError: error.message });
			});
			this.#child.on('close', (code, signal) => end({ code, signal }));
			this.#child.on('exit', (code, signal) => {
				drained = setTimeout(() => end({ code, signal }), DRAIN_MS);
			});
		});
	}

	get pid() {
		return this.#child.pid;
	}

	/** How it ended, once it has. */
	get exit(): PiExit | undefined {
		return this.#ended;
	}

	/**
	 * Sends a command and waits for its answer, for as long as Pi takes. `onanswer` is called with
	 * it before any later record is delivered, which a promise cannot do.
	 * @throws {PiError} in Pi's own words when it refuses, or when it ends first
	 */
	ask<T extends CommandType>(
		request: PiRequest<T>,
		id = `h${++this.#lastId}`,
		onanswer?: (data: Answer<T>) => void,
	): Promise<Answer<T>> {
		if (this.#ended) return Promise.reject(this.#gone());

		return new Promise((resolve, reject) => {
			const answer = (data: unknown) => {
				onanswer?.(data as Answer<T>);
				resolve(data as Answer<T>);
			};
			this.#pending.set(id, { resolve: answer, reject });
			this.#write({ ...request, id });
		});
	}

	/** Answers a dialog of a Pi extension. */
	reply(response: RpcExtensionUIResponse) {
		this.#write(response);
	}

	/** Ends Pi: closes its stdin, then SIGTERM, then SIGKILL, each after a few seconds' grace. */
	async close(): Promise<PiExit> {
		this.#child.stdin.end();
		const terminate = setTimeout(() => this.#signal('SIGTERM'), ORDERLY_EXIT_MS);
		const kill = setTimeout(() => this.kill(), ORDERLY_EXIT_MS + TERMINATED_EXIT_MS);
		try {
			return await this.exited;
		} finally {
			clearTimeout(terminate);
			clearTimeout(kill);
		}
	}

	/** Ends Pi at once. */
	kill() {
		this.#signal('SIGKILL');
	}

	/** To Pi and to the shell that may have started it; Pi's commands have groups of their own. */
	#signal(signal: NodeJS.Signals) {
		const { pid } = this.#child;
		if (pid === undefined || this.#ended) return;
		try {
			process.kill(process.platform === 'win32' ? pid : -pid, signal);
		} catch {
			// It has just ended.
		}
	}

	#write(record: object) {
		if (!this.#ended) this.#child.stdin.write(JSON.stringify(record) + '\n');
	}

	#receive(line: string, onrecord: (record: object) => void) {
		let record: unknown;
		try {
			record = JSON.parse(line);
		} catch {
			// Not ours: something in Pi printed to its stdout. Kept, so that a later failure can show it.
			this.#stderr = `${this.#stderr}\n(stdout) ${line.slice(0, 500)}`.slice(-STDERR_KEPT);
			return;
		}
		if (typeof record !== 'object' || record === null) return;

		const response = record as RpcResponse;
		const pending =
			response.type === 'response' && response.id !== undefined
				? this.#pending.get(response.id)
				: undefined;
		if (!pending) return onrecord(record);

		this.#pending.delete(response.id!);
		if (response.success) pending.resolve('data' in response ? response.data : undefined);
		else pending.reject(new PiError(response.error));
	}

	#gone() {
		return new PiError(describeExit(this.#ended!));
	}
}

/**
 * Says how Pi ended, for people: what happened, what to do (`otherwise` when there is no better
 * advice), the end of its stderr.
 */
export function describeExit(exit: PiExit, otherwise = ''): string {
	const happened = exit.startError
		? `Pi could not be started: ${exit.startError}.`
		: exit.signal
			? `Pi was ended by ${exit.signal}.`
			: `Pi ended with exit code ${exit.code}.`;
	const advice = exit.startError?.includes('ENOENT')
		? 'Check that the command given with --pi exists, or leave --pi out to use the Pi that comes with Holdfast.'
		: /requires? node|unsupported node|node(\.js)? v?\d+.*(required|or (newer|later))|SyntaxError/i.test(
					exit.stderr,
			  )
			? 'This Pi needs a newer Node (22.19 or later).'
			: otherwise;
	const said = [happened, advice].filter((part) => part !== '').join(' ');
	return exit.stderr ? `${said}\nIts last words:\n${exit.stderr}` : said;
}
