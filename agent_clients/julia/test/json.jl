# As much of JSON as the vectors are written in: objects, lists, strings without escapes, numbers.

mutable struct Reader
    text::String
    place::Int
end

read_json(text::String) = value!(Reader(text, 1))

function value!(reader::Reader)
    first = peek!(reader)
    first == '{' && return Dict(items!(reader, '}', pair!))
    first == '[' && return items!(reader, ']', value!)
    first == '"' && return string!(reader)
    return number!(reader)
end

function pair!(reader::Reader)
    name = string!(reader)
    take!(reader, ':')
    return name => value!(reader)
end

function items!(reader::Reader, last::Char, item!)
    take!(reader, peek!(reader))
    items = []
    while peek!(reader) != last
        push!(items, item!(reader))
        peek!(reader) == ',' && take!(reader, ',')
    end
    take!(reader, last)
    return items
end

function string!(reader::Reader)
    take!(reader, '"')
    from = reader.place
    reader.place = findnext('"', reader.text, from) + 1
    return reader.text[from:prevind(reader.text, reader.place, 2)]
end

function number!(reader::Reader)
    number = match(r"[-+.\deE]+", reader.text, reader.place)
    reader.place = number.offset + ncodeunits(number.match)
    return parse(Float64, number.match)
end

"The next character that is no space."
function peek!(reader::Reader)
    reader.place = findnext(!isspace, reader.text, reader.place)
    return reader.text[reader.place]
end

function take!(reader::Reader, wanted::Char)
    peek!(reader) == wanted || error("got $(reader.text[reader.place]) at $(reader.place), wanted $wanted")
    reader.place += 1
end
