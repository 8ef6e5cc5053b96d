/** A running time as a clock: "0:07", "12:30", "1:02:03". */
export function clock(ms: number): string {
	const seconds = Math.max(0, Math.floor(ms / 1000));
	const [h, m, s] = [Math.floor(seconds / 3600), Math.floor(seconds / 60) % 60, seconds % 60];
	const two = (n: number) => String(n).padStart(2, '0');
	return h > 0 ? `${h}:${two(m)}:${two(s)}` : `${m}:${two(s)}`;
}

/** A time that is over: "0.4 s", "12 s", "3 min 20 s". */
export function duration(ms: number): string {
	if (ms < 9_950) return `${(Math.max(0, ms) / 1000).toFixed(1).replace(/\.0$/, '')} s`;
	const seconds = Math.round(ms / 1000);
	if (seconds < 60) return `${seconds} s`;
	const rest = seconds % 60;
	return rest === 0 ? `${seconds / 60} min` : `${Math.floor(seconds / 60)} min ${rest} s`;
}

/** How long ago, roughly: "now", "2 m", "5 h", "3 d". */
export function age(ms: number): string {
	const minutes = Math.floor(ms / 60_000);
	if (minutes < 1) return 'now';
	if (minutes < 60) return `${minutes} m`;
	if (minutes < 60 * 24) return `${Math.floor(minutes / 60)} h`;
	return `${Math.floor(minutes / 60 / 24)} d`;
}
