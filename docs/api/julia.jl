# Usage: julia --project=agent_clients/julia docs/api/julia.jl FOLDER
# Writes the docstrings of the Julia client's public names as Markdown, one page for each source file.
using Reglue

const SOURCES = dirname(pathof(Reglue))

"A public name and one docstring of it."
struct Entry
    name::String
    path::String
    line::Int
    text::String
end

function entries()
    documented = Entry[]
    for (binding, found) in Docs.meta(Reglue), part in values(found.docs)
        text = rstrip(lstrip(join(part.text), '\n'))
        is_public(binding, text) || continue
        path, line = part.data[:path], part.data[:linenumber]
        isempty(path) && ((path, line) = place_of_enum(binding.var))
        push!(documented, Entry(name_of(binding, text), path, line, text))
    end
    return sort(documented; by = entry -> (entry.path, entry.line))
end

"Of what `@enum` makes, Julia keeps no place."
function place_of_enum(name)
    for path in readdir(SOURCES; join = true), (line, text) in enumerate(eachline(path))
        startswith(text, "@enum $name::") && return path, line
    end
    error("found no @enum $name in $SOURCES")
end

"Exported, a method of Base's, or called by the module's name, as `Reglue.main`."
is_public(binding, text) =
    binding.var != :Reglue && (binding.var in names(Reglue) || binding.mod !== Reglue || is_qualified(text))

is_qualified(text) = startswith(text, "    Reglue.")

name_of(binding, text) = is_qualified(text) ? "Reglue.$(binding.var)" : string(binding.var)

function check_documented(documented)
    missing_ = setdiff(string.(names(Reglue)), (entry.name for entry in documented), ["Reglue"])
    isempty(missing_) || error("exported without a docstring: $(join(missing_, ", "))")
end

"Its heading, unless the name had one; its signatures or declaration; its words."
function show_entry(io, entry, has_heading)
    has_heading || println(io, "### ", entry.name, " {#", entry.name, "}\n")
    signature, words = split_signature(entry)
    isempty(signature) || println(io, "```julia\n", signature, "\n```\n")
    println(io, linked(words), "\n")
end

"Julia's habit: a docstring begins with signatures, four spaces in."
function split_signature(entry)
    startswith(entry.text, "    ") || return declaration(entry), entry.text
    signature, words = split(entry.text, "\n\n"; limit = 2)
    return replace(signature, r"^    "m => ""), words
end

"Of a type or constant, from its source."
function declaration(entry)
    source = read(entry.path, String)
    name = entry.name
    found = match(Regex("^(?:mutable )?struct $name\\b.*?(?:^end| end)\$", "ms"), source)
    found === nothing && (found = match(Regex("^(?:abstract type|@enum|const) $name\\b.*\$", "m"), source))
    return found === nothing ? "" : found.match
end

"[`name`](@ref) leads to its heading."
linked(words) = replace(words, r"\[`([^`]+)`\]\(@ref\)" => s"[`\1`](#\1)")

function main(folder)
    documented = entries()
    check_documented(documented)
    mkpath(folder)
    for path in unique(entry.path for entry in documented)
        open(joinpath(folder, replace(basename(path), ".jl" => ".md")), "w") do io
            shown = Set{String}()
            for entry in documented
                entry.path == path || continue
                show_entry(io, entry, entry.name in shown)
                push!(shown, entry.name)
            end
        end
    end
    write(joinpath(folder, "Reglue.md"), linked(strip(join(only(values(
        Docs.meta(Reglue)[Docs.Binding(Reglue, :Reglue)].docs,
    )).text))))
end

main(only(ARGS))
